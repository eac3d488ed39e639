-- texts: the whole input and output of an event, found by (organization, group, event); no correction touches it.
-- group_id is the trace or conversation under which the event was first stored, so that it never has to move.
CREATE TABLE IF NOT EXISTS {{database}}.texts {{on_cluster}}
(
    organization UUID,
    group_id UUID,
    event_id UUID,
    ts DateTime64(9, 'UTC') CODEC(Delta, ZSTD(1)),
    input String CODEC(ZSTD(3)),
    output String CODEC(ZSTD(3)),
    retention UInt8,
    origin_partition UInt16,
    origin_generation UInt32,
    origin_sequence UInt64 CODEC(Delta, ZSTD(1)),
    origin_frame UInt32 CODEC(Delta, ZSTD(1)),
    origin_index UInt32 CODEC(Delta, ZSTD(1)),
    INDEX origin_sequence_range origin_sequence TYPE minmax GRANULARITY 1
)
ENGINE = {{replicated}}MergeTree
PARTITION BY (retention, toYYYYMM(ts))
ORDER BY (organization, group_id, event_id)
SETTINGS {{dedupe_window}}
