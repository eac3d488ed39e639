-- corrections: the staging place of every change of history. A move's -1/+1 rows are written here first, counted, and only then
-- copied to events: a step that reads nothing that it changes can be repeated after a crash. EMPTY AS SELECT takes the columns of
-- events without its projections, which would only cost here.
CREATE TABLE IF NOT EXISTS {{database}}.corrections {{on_cluster}}
ENGINE = {{replicated}}MergeTree
PARTITION BY toYYYYMM(received_at)
ORDER BY (move_id, organization, origin_partition, origin_sequence, origin_frame, origin_index, sign)
SETTINGS {{dedupe_window}}
EMPTY AS SELECT * FROM {{database}}.events
