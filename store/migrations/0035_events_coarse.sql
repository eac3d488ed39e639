-- The events table of before 0034, which has no row that the new one lacks.
DROP TABLE IF EXISTS {{database}}.events_next {{on_cluster}} SYNC
