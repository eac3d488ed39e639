-- What inserts and merges of large blocks cost. A part that an insert writes is one file for all columns, however large it is: a hundred files
-- that live until the first merge were most of what an insert of 18,000 events cost. Merges write wide parts as before. And merges wait for
-- eight parts of a size in place of five, so that a row is written anew less often on its way into a large part; what is not written to
-- any more is merged as far as before, because the engine asks for fewer the older the parts are.
ALTER TABLE {{database}}.events {{on_cluster}} MODIFY SETTING min_level_for_wide_part = 1, merge_selector_base = 8;
ALTER TABLE {{database}}.texts {{on_cluster}} MODIFY SETTING min_level_for_wide_part = 1, merge_selector_base = 8
