-- report: the fingerprint of a voice call's end-of-call report, '' for every other capture. A later report of the same call is
-- compared with it: the same again is a repeat, anything else takes its place.
ALTER TABLE {{database}}.sessions {{on_cluster}} ADD COLUMN IF NOT EXISTS report String CODEC(ZSTD(1)) AFTER retention
