-- erased: what was erased and must not come back. Users as hashes and conversations by id are tombstones: payloads that arrive later, or
-- are read again, are erased by them. Events (group and id) and names
-- (the user's id itself) only say what a running erasure has to find; they leave with it. A set: the
-- same row may be written more than once. Lifting an erasure deletes its rows.
CREATE TABLE IF NOT EXISTS {{database}}.erased {{on_cluster}}
(
    organization UUID,
    kind Enum8('user' = 1, 'conversation' = 2, 'organization' = 3, 'event' = 4, 'name' = 5),
    subject String,
    erasure UUID,
    erased_at DateTime64(3, 'UTC')
)
ENGINE = {{replicated}}MergeTree
ORDER BY (organization, kind, subject)
SETTINGS {{dedupe_window}}
