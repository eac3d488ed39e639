-- audit: who signed in, looked at what, changed what. Written once and never changed; an entry that was inserted again after a cut-off
-- acknowledgement has the same key and counts once.
CREATE TABLE IF NOT EXISTS {{database}}.audit {{on_cluster}}
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
ENGINE = {{replicated}}ReplacingMergeTree
PARTITION BY toYYYYMM(at)
ORDER BY (organization, at, id)
SETTINGS {{dedupe_window}}
