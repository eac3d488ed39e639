-- metadata_versions: what the metadata of an organization's day say, as one number, like `versions` of 0031: values of keys by which pages
-- are filtered stand under it in memory.
ALTER TABLE {{database}}.events {{on_cluster}}
    ADD PROJECTION IF NOT EXISTS metadata_versions
    (
        SELECT
            organization, toDate(ts), sum(sign), sum(sign * reinterpretAsInt64(cityHash64(conversation_id, metadata)))
        GROUP BY organization, toDate(ts)
    ),
    MATERIALIZE PROJECTION metadata_versions
SETTINGS mutations_sync = 0
