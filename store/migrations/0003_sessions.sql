-- sessions: every capture of a conversation's identity and traits, in stream order; reads let the latest win field by field.
-- Not cut by month: a conversation is looked up by its id alone.
CREATE TABLE IF NOT EXISTS {{database}}.sessions {{on_cluster}}
(
    organization UUID,
    conversation_id UUID,
    session_id String CODEC(ZSTD(1)),
    source Enum8('sdk' = 1, 'mcp' = 2, 'voice' = 3, 'otlp' = 4),
    user_id String CODEC(ZSTD(1)),
    user_email String CODEC(ZSTD(1)),
    user_data Map(LowCardinality(String), String) CODEC(ZSTD(1)),
    metadata Map(LowCardinality(String), String) CODEC(ZSTD(1)),
    client_config String CODEC(ZSTD(1)),
    connection_type LowCardinality(String),
    ip String CODEC(ZSTD(1)),
    tools Array(LowCardinality(String)) CODEC(ZSTD(1)),
    started_at DateTime64(3, 'UTC') CODEC(Delta, ZSTD(1)),
    recording_url String CODEC(ZSTD(1)),
    received_at DateTime64(3, 'UTC') CODEC(Delta, ZSTD(1)),
    retention UInt8,
    origin_partition UInt16,
    origin_generation UInt32,
    origin_sequence UInt64 CODEC(Delta, ZSTD(1)),
    origin_frame UInt32 CODEC(Delta, ZSTD(1)),
    origin_index UInt32 CODEC(Delta, ZSTD(1)),
    INDEX origin_sequence_range origin_sequence TYPE minmax GRANULARITY 1,
    PROJECTION by_user
    (
        SELECT organization, user_id, conversation_id, received_at
        ORDER BY organization, user_id
    )
)
ENGINE = {{replicated}}MergeTree
PARTITION BY retention
ORDER BY (organization, conversation_id, received_at, origin_sequence, origin_frame)
SETTINGS {{dedupe_window}}
