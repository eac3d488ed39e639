-- texts_words_packed: the lists of the index of words are written packed from now on, in less than half of the bytes, which were more than
-- all texts took. Lists that were written before stay readable beside them and are written anew by the merges of their parts.
ALTER TABLE {{database}}.texts {{on_cluster}} MODIFY SETTING text_index_posting_list_codec = 'bitpacking'
