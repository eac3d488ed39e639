-- texts_content: what was said beyond the input and output that are shown (histories of messages, instructions, bodies of calls), by the
-- keys under which it was sent. It stood in the metadata of events before, where retention of texts and exclude_io did not reach it.
ALTER TABLE {{database}}.texts {{on_cluster}}
    ADD COLUMN IF NOT EXISTS content Map(LowCardinality(String), String) CODEC(ZSTD(3)) SETTINGS (max_compress_block_size = 4194304) AFTER output
