-- What was stored before 0025 gets its projections in the background; until then reads take those parts from their rows.
ALTER TABLE {{database}}.events {{on_cluster}}
    MATERIALIZE PROJECTION bounds,
    MATERIALIZE PROJECTION users,
    MATERIALIZE PROJECTION priced
SETTINGS mutations_sync = 0
