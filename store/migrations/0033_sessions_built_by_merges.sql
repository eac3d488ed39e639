-- As 0030 for captures.
ALTER TABLE {{database}}.sessions {{on_cluster}}
    MODIFY SETTING materialize_projections_on_insert = 0, materialize_projections_on_merge = 1
