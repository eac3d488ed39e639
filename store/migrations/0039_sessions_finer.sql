-- sessions in granules of 1,024 rows and pieces of 16 KiB, as 0034 did it to events and for the same reason: the captures of a page's
-- conversations lie in as many granules. By links and one exchange, while owners hold still.
-- @still
-- @once SELECT (SELECT count() FROM system.mutations WHERE database = '{{database}}' AND table = 'sessions' AND NOT is_done AND command LIKE '%DELETE%') + (SELECT count() FROM system.processes WHERE current_database = '{{database}}' AND query_kind = 'Insert') = 0
-- @unless SELECT count() FROM system.tables WHERE database = '{{database}}' AND name = 'sessions' AND engine_full LIKE '%index_granularity = 1024,%'
DROP TABLE IF EXISTS {{database}}.sessions_next {{on_cluster}} SYNC;
CREATE TABLE {{database}}.sessions_next {{on_cluster}} AS {{database}}.sessions
ENGINE = {{replicated}}MergeTree
PARTITION BY retention
ORDER BY (organization, conversation_id, received_at, origin_sequence, origin_frame)
SETTINGS index_granularity = 1024, min_compress_block_size = 16384, max_compress_block_size = 131072, {{dedupe_window}},
    materialize_projections_on_insert = 0, materialize_projections_on_merge = 1;
ALTER TABLE {{database}}.sessions_next {{on_cluster}} ATTACH PARTITION ALL FROM {{database}}.sessions;
EXCHANGE TABLES {{database}}.sessions AND {{database}}.sessions_next {{on_cluster}}
