-- latency_daily: calls by name, outcome and latency bucket. Buckets are integers that any build computes alike, so percentiles of a
-- window are those of a recount of its rows, and a reversed row takes its bucket back.
ALTER TABLE {{database}}.events {{on_cluster}} ADD PROJECTION IF NOT EXISTS latency_daily
(
    SELECT
        organization, toDate(ts), kind, name, failed, latency_bucket,
        sum(sign), sum(sign * (duration_ns >= 0)), sum(sign * if(duration_ns >= 0, intDiv(duration_ns, 1000), 0))
    GROUP BY organization, toDate(ts), kind, name, failed, latency_bucket
)
