-- day_versions: which writings of which rows an organization's day holds, as one number: the sum over its rows of a hash of where each was
-- written from and of its version. Nothing else is hashed, because what a row says follows from that (decision 0054); so one number stands
-- for all that is kept of a day, in the place of three that hashed what rows say. Signed like every sum: a row and its reversal cancel out.
-- A store that skips releases may still be building those three, and what is being built cannot go.
KILL MUTATION {{on_cluster}} WHERE database = '{{database}}' AND table = 'events' AND NOT is_done AND match(command, 'MATERIALIZE PROJECTION (price_|metadata_)?versions') SYNC;
ALTER TABLE {{database}}.events {{on_cluster}}
    ADD PROJECTION IF NOT EXISTS day_versions
    (
        SELECT
            organization, toDate(ts), sum(sign),
            sum(sign * reinterpretAsInt64(cityHash64(
                origin_partition, origin_generation, origin_sequence, origin_frame, origin_index, version)))
        GROUP BY organization, toDate(ts)
    ),
    DROP PROJECTION IF EXISTS versions,
    DROP PROJECTION IF EXISTS price_versions,
    DROP PROJECTION IF EXISTS metadata_versions,
    MATERIALIZE PROJECTION day_versions
SETTINGS mutations_sync = 0
