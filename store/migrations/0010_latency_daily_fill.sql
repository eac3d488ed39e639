-- What was stored before 0009 gets its latency_daily in the background; until then reads take those parts from their rows.
ALTER TABLE {{database}}.events {{on_cluster}} MATERIALIZE PROJECTION latency_daily SETTINGS mutations_sync = 0
