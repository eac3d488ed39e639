-- versions: what an organization's day holds, as one number: the sum over its rows of a hash of all that is kept in memory of whole days
-- (query/days). Signed like every sum: a row and its reversal cancel out, so that merges leave it as it was and whatever is stored, moved,
-- replaced or erased of the day changes it. No clock and no block number has to be trusted.
ALTER TABLE {{database}}.events {{on_cluster}}
    ADD PROJECTION IF NOT EXISTS versions
    (
        SELECT
            organization, toDate(ts), sum(sign),
            sum(sign * reinterpretAsInt64(cityHash64(conversation_id, user_id, ts, kind, name, failed, duration_ns, latency_bucket)))
        GROUP BY organization, toDate(ts)
    ),
    MATERIALIZE PROJECTION versions
SETTINGS mutations_sync = 0
