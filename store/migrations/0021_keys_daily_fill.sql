-- What was stored before 0018 gets its keys_daily in the background; until then reads take those parts from their rows.
ALTER TABLE {{database}}.events {{on_cluster}} MATERIALIZE PROJECTION keys_daily SETTINGS mutations_sync = 0
