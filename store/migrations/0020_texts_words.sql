-- texts_words: which rows hold a word, so that a search reads no texts. It is built by merges and not by inserts (see the settings of
-- processors/insert.ts): parts that no merge has touched are small, and are searched as they are. What was stored before gets its
-- index in the background. Case is taken away as searches take it from what they look for; both texts share one dictionary.
ALTER TABLE {{database}}.texts {{on_cluster}}
    ADD INDEX IF NOT EXISTS words lowerUTF8(concat(input, '\n', output)) TYPE text(tokenizer = 'splitByNonAlpha'),
    MATERIALIZE INDEX words
SETTINGS mutations_sync = 0
