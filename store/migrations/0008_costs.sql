-- costs: what conversations were priced by, for sums over many of them. Signed sums by model, provider, how the cost is known (the bits
-- of `present` that say so: tokens 4 and 8, cost 16, computed 256, invalid 512) and size of the request, at whose limits providers
-- change their prices. No largest request: that could not be reversed.
ALTER TABLE {{database}}.events {{on_cluster}} ADD PROJECTION IF NOT EXISTS costs
(
    SELECT
        organization, conversation_id, model, provider, bitAnd(present, 796), kind = 'agent' AND source = 'otlp',
        roundDown(greatest(input_tokens, 1) - 1, [0, 32000, 64000, 128000, 200000, 256000, 512000, 1000000]),
        sum(sign),
        sum(sign * toInt64(input_tokens)), sum(sign * toInt64(output_tokens)), sum(sign * toInt64(cache_read_tokens)),
        sum(sign * toInt64(cache_write_tokens)), sum(sign * toInt64(reasoning_tokens)), sum(sign * toInt64(cost_nanos))
    GROUP BY
        organization, conversation_id, model, provider, bitAnd(present, 796), kind = 'agent' AND source = 'otlp',
        roundDown(greatest(input_tokens, 1) - 1, [0, 32000, 64000, 128000, 200000, 256000, 512000, 1000000])
)
