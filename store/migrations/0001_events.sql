-- events: one narrow row per agent turn, call or span, and the source of every number.
-- Signed rows: a correction writes the row again with sign -1 (all key and partition columns copied) and the right row with +1;
-- counts are sum(sign). The answers that come from single rows are projections inside the table: they appear and vanish with
-- their part by one rename, so no crash can split them from their rows. `ids` finds an event without a time.
-- min and max cannot be reversed: min(sign) < 0 in a projection says that a reversed row is still unmerged there, so that a read
-- that shows times recounts those few groups from the rows. What filters by value (user_id) is part of a key instead: sum(sign) of
-- its group is exact at any moment.
-- span_id is UInt64 and trace_id a UUID because both are fixed-width binary that JSON can carry as text.
CREATE TABLE IF NOT EXISTS {{database}}.events {{on_cluster}}
(
    organization UUID,
    conversation_id UUID,
    session_id String CODEC(ZSTD(1)),
    event_id UUID,
    parent_id UUID CODEC(ZSTD(1)),
    trace_id UUID CODEC(ZSTD(1)),
    span_id UInt64,
    parent_span_id UInt64,
    ts DateTime64(9, 'UTC') CODEC(Delta, ZSTD(1)),
    duration_ns Int64 CODEC(ZSTD(1)),
    latency_bucket Int16 CODEC(ZSTD(1)),
    source Enum8('sdk' = 1, 'mcp' = 2, 'voice' = 3, 'otlp' = 4),
    kind Enum8('agent' = 1, 'llm' = 2, 'tool' = 3, 'resource' = 4, 'prompt' = 5, 'other' = 6),
    name LowCardinality(String),
    failed UInt8,
    error_type LowCardinality(String),
    error_message String CODEC(ZSTD(1)),
    user_id String CODEC(ZSTD(1)),
    provisional UInt8,
    model LowCardinality(String),
    provider LowCardinality(String),
    input_tokens UInt64 CODEC(ZSTD(1)),
    output_tokens UInt64 CODEC(ZSTD(1)),
    cache_read_tokens UInt64 CODEC(ZSTD(1)),
    cache_write_tokens UInt64 CODEC(ZSTD(1)),
    reasoning_tokens UInt64 CODEC(ZSTD(1)),
    cost_nanos UInt64 CODEC(ZSTD(1)),
    present UInt16,
    input_preview String CODEC(ZSTD(1)),
    output_preview String CODEC(ZSTD(1)),
    input_bytes UInt32 CODEC(ZSTD(1)),
    output_bytes UInt32 CODEC(ZSTD(1)),
    metadata Map(LowCardinality(String), String) CODEC(ZSTD(1)),
    checkpoints String CODEC(ZSTD(1)),
    received_at DateTime64(3, 'UTC') CODEC(Delta, ZSTD(1)),
    retention UInt8,
    origin_partition UInt16,
    origin_generation UInt32,
    origin_sequence UInt64 CODEC(Delta, ZSTD(1)),
    origin_frame UInt32 CODEC(Delta, ZSTD(1)),
    origin_index UInt32 CODEC(Delta, ZSTD(1)),
    move_id UUID CODEC(ZSTD(1)),
    version UInt64 CODEC(ZSTD(1)),
    sign Int8,
    INDEX origin_sequence_range origin_sequence TYPE minmax GRANULARITY 1,
    PROJECTION metrics_15m
    (
        SELECT
            organization, toStartOfInterval(ts, INTERVAL 15 MINUTE), kind, source,
            sum(sign), sum(sign * failed),
            sum(sign * (duration_ns >= 0)), sum(sign * if(duration_ns >= 0, intDiv(duration_ns, 1000), 0)),
            sum(sign * toInt64(input_tokens)), sum(sign * toInt64(output_tokens)), sum(sign * toInt64(cost_nanos))
        GROUP BY organization, toStartOfInterval(ts, INTERVAL 15 MINUTE), kind, source
    ),
    PROJECTION metrics_daily
    (
        SELECT
            organization, toDate(ts), kind, source,
            sum(sign), sum(sign * failed),
            sum(sign * (duration_ns >= 0)), sum(sign * if(duration_ns >= 0, intDiv(duration_ns, 1000), 0)),
            sum(sign * toInt64(input_tokens)), sum(sign * toInt64(output_tokens)), sum(sign * toInt64(cost_nanos)),
            min(sign)
        GROUP BY organization, toDate(ts), kind, source
    ),
    PROJECTION names_daily
    (
        SELECT
            organization, toDate(ts), kind, name, metadata['event_type'], failed,
            sum(sign), sum(sign * (duration_ns >= 0)), sum(sign * if(duration_ns >= 0, intDiv(duration_ns, 1000), 0))
        GROUP BY organization, toDate(ts), kind, name, metadata['event_type'], failed
    ),
    PROJECTION conversations_daily
    (
        SELECT
            organization, toDate(ts), conversation_id,
            sum(sign), sum(sign * failed), sum(sign * (kind IN ('tool', 'resource', 'prompt'))),
            sum(sign * (duration_ns >= 0)), sum(sign * if(duration_ns >= 0, intDiv(duration_ns, 1000), 0)),
            min(ts), max(ts), min(sign)
        GROUP BY organization, toDate(ts), conversation_id
    ),
    PROJECTION conversations
    (
        SELECT
            organization, conversation_id, user_id,
            sum(sign), sum(sign * failed), sum(sign * (kind IN ('tool', 'resource', 'prompt'))),
            sum(sign * (duration_ns >= 0)), sum(sign * if(duration_ns >= 0, intDiv(duration_ns, 1000), 0)),
            min(ts), max(ts), min(sign)
        GROUP BY organization, conversation_id, user_id
    ),
    PROJECTION users_daily
    (
        SELECT organization, toDate(ts), user_id, sum(sign), max(ts)
        GROUP BY organization, toDate(ts), user_id
    ),
    PROJECTION ids
    (
        SELECT organization, event_id, ts, conversation_id, sign
        ORDER BY organization, event_id
    )
)
ENGINE = {{replicated}}VersionedCollapsingMergeTree(sign, version)
PARTITION BY (retention, toYYYYMM(ts))
ORDER BY (organization, toStartOfHour(ts), conversation_id, ts, event_id)
SETTINGS {{dedupe_window}}, deduplicate_merge_projection_mode = 'rebuild'
