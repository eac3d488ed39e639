-- received_range: what of a day, or of an organization's captures, arrived since an instant is looked for in the granules that may hold it. Rows
-- lie by hour and by conversation, so without it every arrival of the day, and every capture there ever was, would be looked at.
ALTER TABLE {{database}}.events {{on_cluster}}
    ADD INDEX IF NOT EXISTS received_range received_at TYPE minmax GRANULARITY 1,
    MATERIALIZE INDEX received_range
SETTINGS mutations_sync = 0;
ALTER TABLE {{database}}.sessions {{on_cluster}}
    ADD INDEX IF NOT EXISTS received_range received_at TYPE minmax GRANULARITY 1,
    MATERIALIZE INDEX received_range
SETTINGS mutations_sync = 0
