-- trace_ids: which granules may hold a trace, so that its id is found without knowing when it was. Parts from before are read in whole
-- until a merge writes them again.
ALTER TABLE {{database}}.events {{on_cluster}} ADD INDEX IF NOT EXISTS trace_ids trace_id TYPE bloom_filter(0.001) GRANULARITY 1
