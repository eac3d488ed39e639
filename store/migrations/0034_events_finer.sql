-- events in granules of 1,024 rows whose columns are compressed in pieces of 16 KiB: what reads a few conversations whole (moves, pages)
-- unpacks an eighth of the rows, for the same bytes on disk. The engine does not change the granularity of a table, so there is a new one;
-- it gets the parts of the old one as links and takes its name at one instant. What merges write from then on is finer.
-- It is made anew when an attempt was cut short. What is inserted or deleted after the parts were linked would be missing or back, so nothing
-- may be under way, and owners hold still.
-- @still
-- @once SELECT (SELECT count() FROM system.mutations WHERE database = '{{database}}' AND table = 'events' AND NOT is_done AND command LIKE '%DELETE%') + (SELECT count() FROM system.processes WHERE current_database = '{{database}}' AND query_kind = 'Insert') = 0
-- @unless SELECT count() FROM system.tables WHERE database = '{{database}}' AND name = 'events' AND engine_full LIKE '%index_granularity = 1024,%'
DROP TABLE IF EXISTS {{database}}.events_next {{on_cluster}} SYNC;
CREATE TABLE {{database}}.events_next {{on_cluster}} AS {{database}}.events
ENGINE = {{replicated}}VersionedCollapsingMergeTree(sign, version)
PARTITION BY (retention, toYYYYMM(ts))
ORDER BY (organization, toStartOfHour(ts), conversation_id, ts, event_id)
SETTINGS index_granularity = 1024, min_compress_block_size = 16384, max_compress_block_size = 131072, {{dedupe_window}},
    deduplicate_merge_projection_mode = 'rebuild', materialize_projections_on_insert = 0, materialize_projections_on_merge = 1;
ALTER TABLE {{database}}.events_next {{on_cluster}} ATTACH PARTITION ALL FROM {{database}}.events;
EXCHANGE TABLES {{database}}.events AND {{database}}.events_next {{on_cluster}}
