-- The tables as the migrations up to and with the one of this name leave them on one server, for a database that has none yet: a test
-- compares the two. A later migration is added to the migrations alone.

CREATE TABLE {{database}}.events
(
    organization UUID,
    conversation_id UUID,
    session_id String CODEC(ZSTD(1)),
    event_id UUID,
    parent_id UUID CODEC(ZSTD(1)),
    trace_id UUID CODEC(ZSTD(1)),
    span_id UInt64,
    parent_span_id UInt64,
    ts DateTime64(9, 'UTC') CODEC(Delta(8), ZSTD(1)),
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
    input_preview String CODEC(ZSTD(3)) SETTINGS (max_compress_block_size = 1048576),
    output_preview String CODEC(ZSTD(3)) SETTINGS (max_compress_block_size = 1048576),
    input_bytes UInt32 CODEC(ZSTD(1)),
    output_bytes UInt32 CODEC(ZSTD(1)),
    metadata Map(LowCardinality(String), String) CODEC(ZSTD(3)) SETTINGS (max_compress_block_size = 1048576),
    checkpoints String CODEC(ZSTD(1)),
    received_at DateTime64(3, 'UTC') CODEC(Delta(8), ZSTD(1)),
    retention UInt8,
    origin_partition UInt16,
    origin_generation UInt32,
    origin_sequence UInt64 CODEC(Delta(8), ZSTD(1)),
    origin_frame UInt32 CODEC(Delta(4), ZSTD(1)),
    origin_index UInt32 CODEC(Delta(4), ZSTD(1)),
    move_id UUID CODEC(ZSTD(1)),
    version UInt64 CODEC(ZSTD(1)),
    sign Int8,
    INDEX origin_sequence_range origin_sequence TYPE minmax GRANULARITY 1,
    INDEX trace_ids trace_id TYPE bloom_filter(0.001) GRANULARITY 1,
    PROJECTION metrics_15m
    (
        SELECT
            organization,
            toStartOfInterval(ts, toIntervalMinute(15)),
            kind,
            source,
            sum(sign),
            sum(sign * failed),
            sum(sign * (duration_ns >= 0)),
            sum(sign * if(duration_ns >= 0, intDiv(duration_ns, 1000), 0)),
            sum(sign * toInt64(input_tokens)),
            sum(sign * toInt64(output_tokens)),
            sum(sign * toInt64(cost_nanos))
        GROUP BY
            organization,
            toStartOfInterval(ts, toIntervalMinute(15)),
            kind,
            source
    ),
    PROJECTION metrics_daily
    (
        SELECT
            organization,
            toDate(ts),
            kind,
            source,
            sum(sign),
            sum(sign * failed),
            sum(sign * (duration_ns >= 0)),
            sum(sign * if(duration_ns >= 0, intDiv(duration_ns, 1000), 0)),
            sum(sign * toInt64(input_tokens)),
            sum(sign * toInt64(output_tokens)),
            sum(sign * toInt64(cost_nanos)),
            min(sign)
        GROUP BY
            organization,
            toDate(ts),
            kind,
            source
    ),
    PROJECTION names_daily
    (
        SELECT
            organization,
            toDate(ts),
            kind,
            name,
            metadata['event_type'],
            failed,
            sum(sign),
            sum(sign * (duration_ns >= 0)),
            sum(sign * if(duration_ns >= 0, intDiv(duration_ns, 1000), 0))
        GROUP BY
            organization,
            toDate(ts),
            kind,
            name,
            metadata['event_type'],
            failed
    ),
    PROJECTION conversations_daily
    (
        SELECT
            organization,
            toDate(ts),
            conversation_id,
            sum(sign),
            sum(sign * failed),
            sum(sign * (kind IN ('tool', 'resource', 'prompt'))),
            sum(sign * (duration_ns >= 0)),
            sum(sign * if(duration_ns >= 0, intDiv(duration_ns, 1000), 0)),
            min(ts),
            max(ts),
            min(sign)
        GROUP BY
            organization,
            toDate(ts),
            conversation_id
    ),
    PROJECTION ids
    (
        SELECT
            organization,
            event_id,
            ts,
            conversation_id,
            sign
        ORDER BY
            organization,
            event_id
    ),
    PROJECTION latency_daily
    (
        SELECT
            organization,
            toDate(ts),
            kind,
            name,
            failed,
            latency_bucket,
            sum(sign),
            sum(sign * (duration_ns >= 0)),
            sum(sign * if(duration_ns >= 0, intDiv(duration_ns, 1000), 0))
        GROUP BY
            organization,
            toDate(ts),
            kind,
            name,
            failed,
            latency_bucket
    ),
    PROJECTION keys_daily
    (
        SELECT
            organization,
            toDate(ts),
            sumMap(mapApply((k, v) -> (concat(multiIf(match(v, '^-?[0-9]+([.][0-9]+)?([eE][-+]?[0-9]+)?$'), 'n', (v IN ('true', 'false')), 'b', match(v, '^[0-9]{4}-[0-9]{2}-[0-9]{2}([T ]|$)'), 't', startsWith(v, '['), 'l', startsWith(v, '{'), 'o', 's'), k), toInt64(sign)), metadata)),
            uniqCombinedMap(12)(CAST(metadata, 'Map(String, String)'))
        GROUP BY
            organization,
            toDate(ts)
    ),
    PROJECTION bounds
    (
        SELECT
            organization,
            conversation_id,
            sum(sign),
            min(ts),
            max(ts)
        GROUP BY
            organization,
            conversation_id
    ) WITH SETTINGS (index_granularity = 1024),
    PROJECTION users
    (
        SELECT
            organization,
            user_id,
            conversation_id,
            sum(sign)
        GROUP BY
            organization,
            user_id,
            conversation_id
    ),
    PROJECTION priced
    (
        SELECT
            organization,
            bitAnd(present, 796),
            conversation_id,
            model,
            provider,
            (kind = 'agent') AND (source = 'otlp'),
            roundDown(greatest(input_tokens, 1) - 1, [0, 32000, 64000, 128000, 200000, 256000, 512000, 1000000]),
            sum(sign),
            sum(sign * toInt64(input_tokens)),
            sum(sign * toInt64(output_tokens)),
            sum(sign * toInt64(cache_read_tokens)),
            sum(sign * toInt64(cache_write_tokens)),
            sum(sign * toInt64(reasoning_tokens)),
            sum(sign * toInt64(cost_nanos))
        GROUP BY
            organization,
            bitAnd(present, 796),
            conversation_id,
            model,
            provider,
            (kind = 'agent') AND (source = 'otlp'),
            roundDown(greatest(input_tokens, 1) - 1, [0, 32000, 64000, 128000, 200000, 256000, 512000, 1000000])
    ),
    PROJECTION versions
    (
        SELECT
            organization,
            toDate(ts),
            sum(sign),
            sum(sign * reinterpretAsInt64(cityHash64(conversation_id, user_id, ts, kind, name, failed, duration_ns, latency_bucket)))
        GROUP BY
            organization,
            toDate(ts)
    ),
    PROJECTION price_versions
    (
        SELECT
            organization,
            toDate(ts),
            sum(sign),
            sumIf(sign * reinterpretAsInt64(cityHash64(conversation_id, model, provider, (kind = 'agent') AND (source = 'otlp'), bitAnd(present, 796), input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, reasoning_tokens, cost_nanos)), bitAnd(present, 796) > 0)
        GROUP BY
            organization,
            toDate(ts)
    ),
    PROJECTION metadata_versions
    (
        SELECT
            organization,
            toDate(ts),
            sum(sign),
            sum(sign * reinterpretAsInt64(cityHash64(conversation_id, metadata)))
        GROUP BY
            organization,
            toDate(ts)
    )
)
ENGINE = VersionedCollapsingMergeTree(sign, version)
PARTITION BY (retention, toYYYYMM(ts))
ORDER BY (organization, toStartOfHour(ts), conversation_id, ts, event_id)
SETTINGS index_granularity = 1024, min_compress_block_size = 16384, max_compress_block_size = 131072, {{dedupe_window}}, deduplicate_merge_projection_mode = 'rebuild', materialize_projections_on_insert = 0, materialize_projections_on_merge = 1;

CREATE TABLE {{database}}.audit
(
    organization UUID,
    at DateTime64(3, 'UTC'),
    id UUID,
    actor_kind LowCardinality(String),
    actor String,
    action LowCardinality(String),
    target String,
    address String,
    request String
)
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMM(at)
ORDER BY (organization, at, id)
SETTINGS {{dedupe_window}}, index_granularity = 8192;

CREATE TABLE {{database}}.corrections
(
    organization UUID,
    conversation_id UUID,
    session_id String,
    event_id UUID,
    parent_id UUID,
    trace_id UUID,
    span_id UInt64,
    parent_span_id UInt64,
    ts DateTime64(9, 'UTC'),
    duration_ns Int64,
    latency_bucket Int16,
    source Enum8('sdk' = 1, 'mcp' = 2, 'voice' = 3, 'otlp' = 4),
    kind Enum8('agent' = 1, 'llm' = 2, 'tool' = 3, 'resource' = 4, 'prompt' = 5, 'other' = 6),
    name LowCardinality(String),
    failed UInt8,
    error_type LowCardinality(String),
    error_message String,
    user_id String,
    provisional UInt8,
    model LowCardinality(String),
    provider LowCardinality(String),
    input_tokens UInt64,
    output_tokens UInt64,
    cache_read_tokens UInt64,
    cache_write_tokens UInt64,
    reasoning_tokens UInt64,
    cost_nanos UInt64,
    present UInt16,
    input_preview String,
    output_preview String,
    input_bytes UInt32,
    output_bytes UInt32,
    metadata Map(LowCardinality(String), String),
    checkpoints String,
    received_at DateTime64(3, 'UTC'),
    retention UInt8,
    origin_partition UInt16,
    origin_generation UInt32,
    origin_sequence UInt64,
    origin_frame UInt32,
    origin_index UInt32,
    move_id UUID,
    version UInt64,
    sign Int8
)
ENGINE = MergeTree
PARTITION BY toYYYYMM(received_at)
ORDER BY (move_id, organization, origin_partition, origin_sequence, origin_frame, origin_index, sign)
SETTINGS {{dedupe_window}}, index_granularity = 8192;

CREATE TABLE {{database}}.erased
(
    organization UUID,
    kind Enum8('user' = 1, 'conversation' = 2, 'organization' = 3, 'event' = 4, 'name' = 5),
    subject String,
    erasure UUID,
    erased_at DateTime64(3, 'UTC')
)
ENGINE = MergeTree
ORDER BY (organization, kind, subject)
SETTINGS {{dedupe_window}}, index_granularity = 8192;

CREATE TABLE {{database}}.fences
(
    origin_partition UInt16,
    number SimpleAggregateFunction(max, UInt64)
)
ENGINE = AggregatingMergeTree
ORDER BY origin_partition
SETTINGS index_granularity = 8192;

CREATE TABLE {{database}}.ledger
(
    organization UUID,
    hour DateTime('UTC') CODEC(Delta(4), LZ4),
    surface Enum8('sdk' = 1, 'voice' = 2, 'otlp' = 3),
    reading UInt32,
    partition UInt32,
    from_sequence UInt64 CODEC(Delta(8), LZ4),
    to_sequence UInt64 CODEC(Delta(8), LZ4),
    generation UInt32,
    payloads UInt32,
    dead UInt32,
    repeats UInt32,
    items UInt32,
    repeated_items UInt32
)
ENGINE = ReplacingMergeTree(generation)
PARTITION BY toYYYYMM(hour)
ORDER BY (organization, hour, surface, reading, partition, from_sequence)
TTL hour + toIntervalDay(400)
SETTINGS {{dedupe_window}}, index_granularity = 8192;

CREATE TABLE {{database}}.links
(
    organization UUID,
    trace_id UUID,
    provisional_id UUID,
    conversation_id UUID,
    session_id String CODEC(ZSTD(1)),
    depth UInt8,
    started_at DateTime64(9, 'UTC') CODEC(Delta(8), ZSTD(1)),
    span_id UInt64,
    retention UInt8,
    origin_partition UInt16,
    origin_generation UInt32,
    origin_sequence UInt64 CODEC(Delta(8), ZSTD(1)),
    origin_frame UInt32 CODEC(Delta(4), ZSTD(1)),
    origin_index UInt32 CODEC(Delta(4), ZSTD(1)),
    INDEX origin_sequence_range origin_sequence TYPE minmax GRANULARITY 1
)
ENGINE = MergeTree
PARTITION BY retention
ORDER BY (organization, trace_id, origin_partition, origin_sequence, origin_frame, origin_index)
SETTINGS {{dedupe_window}}, index_granularity = 8192;

CREATE TABLE {{database}}.replaced_reports
(
    organization UUID,
    conversation_id UUID,
    origin_partition UInt16,
    origin_sequence UInt64,
    origin_frame UInt32
)
ENGINE = MergeTree
ORDER BY (organization, conversation_id, origin_sequence, origin_frame)
SETTINGS {{dedupe_window}}, index_granularity = 8192;

CREATE TABLE {{database}}.sessions
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
    started_at DateTime64(3, 'UTC') CODEC(Delta(8), ZSTD(1)),
    recording_url String CODEC(ZSTD(1)),
    received_at DateTime64(3, 'UTC') CODEC(Delta(8), ZSTD(1)),
    retention UInt8,
    report String CODEC(ZSTD(1)),
    origin_partition UInt16,
    origin_generation UInt32,
    origin_sequence UInt64 CODEC(Delta(8), ZSTD(1)),
    origin_frame UInt32 CODEC(Delta(4), ZSTD(1)),
    origin_index UInt32 CODEC(Delta(4), ZSTD(1)),
    INDEX origin_sequence_range origin_sequence TYPE minmax GRANULARITY 1,
    PROJECTION by_user
    (
        SELECT
            organization,
            user_id,
            conversation_id,
            received_at
        ORDER BY
            organization,
            user_id
    ),
    PROJECTION capture_versions
    (
        SELECT
            organization,
            toDate(received_at),
            count(),
            sum(reinterpretAsInt64(cityHash64(conversation_id, user_id, report, received_at, origin_partition, origin_sequence, origin_frame, origin_index)))
        GROUP BY
            organization,
            toDate(received_at)
    )
)
ENGINE = MergeTree
PARTITION BY retention
ORDER BY (organization, conversation_id, received_at, origin_sequence, origin_frame)
SETTINGS index_granularity = 1024, min_compress_block_size = 16384, max_compress_block_size = 131072, {{dedupe_window}}, materialize_projections_on_insert = 0, materialize_projections_on_merge = 1;

CREATE TABLE {{database}}.texts
(
    organization UUID,
    group_id UUID,
    event_id UUID,
    ts DateTime64(9, 'UTC') CODEC(Delta(8), ZSTD(1)),
    input String CODEC(ZSTD(3)) SETTINGS (max_compress_block_size = 4194304),
    output String CODEC(ZSTD(3)) SETTINGS (max_compress_block_size = 4194304),
    retention UInt8,
    origin_partition UInt16,
    origin_generation UInt32,
    origin_sequence UInt64 CODEC(Delta(8), ZSTD(1)),
    origin_frame UInt32 CODEC(Delta(4), ZSTD(1)),
    origin_index UInt32 CODEC(Delta(4), ZSTD(1)),
    INDEX origin_sequence_range origin_sequence TYPE minmax GRANULARITY 1,
    INDEX words lowerUTF8(concat(input, '\n', output)) TYPE text(tokenizer = 'splitByNonAlpha') GRANULARITY 100000000
)
ENGINE = MergeTree
PARTITION BY (retention, toYYYYMM(ts))
ORDER BY (organization, group_id, event_id)
SETTINGS {{dedupe_window}}, index_granularity = 8192, text_index_posting_list_codec = 'bitpacking';
