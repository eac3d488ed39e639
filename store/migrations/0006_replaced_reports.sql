-- replaced_reports: positions of end-of-call reports that gave way to a later report of the same call. Their events are reversed;
-- their captures stay in sessions, where reads leave them out. A set: the same position may be written more than once.
CREATE TABLE IF NOT EXISTS {{database}}.replaced_reports {{on_cluster}}
(
    organization UUID,
    conversation_id UUID,
    origin_partition UInt16,
    origin_sequence UInt64,
    origin_frame UInt32
)
ENGINE = {{replicated}}MergeTree
ORDER BY (organization, conversation_id, origin_sequence, origin_frame)
SETTINGS {{dedupe_window}}
