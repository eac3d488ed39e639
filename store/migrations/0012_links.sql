-- links: what spans reveal about the conversation of their trace, written by the range that holds the span. Never changed: which link
-- of a trace counts is decided by (depth, started_at, span_id), so the order of arrival doesn't matter. provisional_id is the
-- conversation under which spans of the trace are stored that name none.
CREATE TABLE IF NOT EXISTS {{database}}.links {{on_cluster}}
(
    organization UUID,
    trace_id UUID,
    provisional_id UUID,
    conversation_id UUID,
    session_id String CODEC(ZSTD(1)),
    depth UInt8,
    started_at DateTime64(9, 'UTC') CODEC(Delta, ZSTD(1)),
    span_id UInt64,
    retention UInt8,
    origin_partition UInt16,
    origin_generation UInt32,
    origin_sequence UInt64 CODEC(Delta, ZSTD(1)),
    origin_frame UInt32 CODEC(Delta, ZSTD(1)),
    origin_index UInt32 CODEC(Delta, ZSTD(1)),
    INDEX origin_sequence_range origin_sequence TYPE minmax GRANULARITY 1
)
ENGINE = {{replicated}}MergeTree
PARTITION BY retention
ORDER BY (organization, trace_id, origin_partition, origin_sequence, origin_frame, origin_index)
SETTINGS {{dedupe_window}}
