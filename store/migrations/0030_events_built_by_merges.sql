-- Inserts into events write rows alone, merges build the projections. Planning ten of them was four fifths of what a small insert cost.
-- Reads take the rows of parts that have none yet, which are the newest and smallest ones. Only parts alike in this are merged: one
-- that is left between two others is built where it lies (store/projections.ts).
ALTER TABLE {{database}}.events {{on_cluster}}
    MODIFY SETTING materialize_projections_on_insert = 0, materialize_projections_on_merge = 1
