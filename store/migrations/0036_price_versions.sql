-- price_versions: what was priced on an organization's day, as one number, like `versions` of 0031: days of prices that are kept in memory
-- stand under it.
ALTER TABLE {{database}}.events {{on_cluster}}
    ADD PROJECTION IF NOT EXISTS price_versions
    (
        SELECT
            organization, toDate(ts), sum(sign),
            sumIf(sign * reinterpretAsInt64(cityHash64(
                conversation_id, model, provider, kind = 'agent' AND source = 'otlp', bitAnd(present, 796), input_tokens, output_tokens,
                cache_read_tokens, cache_write_tokens, reasoning_tokens, cost_nanos)), bitAnd(present, 796) > 0)
        GROUP BY organization, toDate(ts)
    ),
    MATERIALIZE PROJECTION price_versions
SETTINGS mutations_sync = 0
