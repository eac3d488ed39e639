-- ledger: what became of the payloads of a finished range, by organization, hour of receipt and surface. `reading` is 0 for the first
-- reading of a range, else the generation of a replay. A record that is folded in again, or again under a later generation because its
-- first owner died before it could finish, takes the place of the earlier one.
CREATE TABLE IF NOT EXISTS {{database}}.ledger {{on_cluster}}
(
    organization UUID,
    hour DateTime('UTC') CODEC(Delta, LZ4),
    surface Enum8('sdk' = 1, 'voice' = 2, 'otlp' = 3),
    reading UInt32,
    partition UInt32,
    from_sequence UInt64 CODEC(Delta, LZ4),
    to_sequence UInt64 CODEC(Delta, LZ4),
    generation UInt32,
    payloads UInt32,
    dead UInt32,
    repeats UInt32,
    items UInt32,
    repeated_items UInt32
)
ENGINE = {{replicated}}ReplacingMergeTree(generation)
PARTITION BY toYYYYMM(hour)
ORDER BY (organization, hour, surface, reading, partition, from_sequence)
TTL hour + INTERVAL 400 DAY
SETTINGS {{dedupe_window}}
