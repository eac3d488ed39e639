-- The sessions table of before 0039 goes, which has no row that the new one lacks. Its parts are written anew in the background, a microsecond
-- of CPU a row, because large ones would wait for a merge for good: sessions is not cut by month. Nobody waits for it, and a restart goes on with it.
DROP TABLE IF EXISTS {{database}}.sessions_next {{on_cluster}} SYNC;
ALTER TABLE {{database}}.sessions {{on_cluster}} REWRITE PARTS SETTINGS mutations_sync = 0
