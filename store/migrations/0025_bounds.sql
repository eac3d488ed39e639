-- bounds: where conversations stand. It takes the place of `conversations`, whose users are in `users` and whose other sums nothing
-- asked. Granules are small, because what is looked up is one id out of millions; not smaller, because the engine takes rows where a
-- projection has more granules to read than they have.
-- users: whom events name, in which conversations and how often; it takes the place of users_daily. Who is nobody stands first.
-- priced: costs, with what was priced apart from what was not, so that only it is read.
ALTER TABLE {{database}}.events {{on_cluster}}
    ADD PROJECTION IF NOT EXISTS bounds
    (
        SELECT organization, conversation_id, sum(sign), min(ts), max(ts)
        GROUP BY organization, conversation_id
    ) WITH SETTINGS (index_granularity = 1024),
    ADD PROJECTION IF NOT EXISTS users
    (
        SELECT organization, user_id, conversation_id, sum(sign)
        GROUP BY organization, user_id, conversation_id
    ),
    ADD PROJECTION IF NOT EXISTS priced
    (
        SELECT
            organization, bitAnd(present, 796), conversation_id, model, provider, kind = 'agent' AND source = 'otlp',
            roundDown(greatest(input_tokens, 1) - 1, [0, 32000, 64000, 128000, 200000, 256000, 512000, 1000000]),
            sum(sign),
            sum(sign * toInt64(input_tokens)), sum(sign * toInt64(output_tokens)), sum(sign * toInt64(cache_read_tokens)),
            sum(sign * toInt64(cache_write_tokens)), sum(sign * toInt64(reasoning_tokens)), sum(sign * toInt64(cost_nanos))
        GROUP BY
            organization, bitAnd(present, 796), conversation_id, model, provider, kind = 'agent' AND source = 'otlp',
            roundDown(greatest(input_tokens, 1) - 1, [0, 32000, 64000, 128000, 200000, 256000, 512000, 1000000])
    ),
    DROP PROJECTION IF EXISTS conversations,
    DROP PROJECTION IF EXISTS costs,
    DROP PROJECTION IF EXISTS users_daily
