-- capture_versions: the same of what arrived on a day about whose conversations are.
ALTER TABLE {{database}}.sessions {{on_cluster}}
    ADD PROJECTION IF NOT EXISTS capture_versions
    (
        SELECT
            organization, toDate(received_at), count(),
            sum(reinterpretAsInt64(cityHash64(
                conversation_id, user_id, report, received_at, origin_partition, origin_sequence, origin_frame, origin_index)))
        GROUP BY organization, toDate(received_at)
    ),
    MATERIALIZE PROJECTION capture_versions
SETTINGS mutations_sync = 0
