-- texts_blocks: up to 4 MiB of texts are compressed together instead of 1 MiB. What repeats is found within a block only, and where every
-- call of a model repeats a history of hundreds of KiB, a block of 1 MiB holds it once or twice. A row is read with its granule of up
-- to 10 MiB in any case. Blocks of before stay as they are until their parts are merged.
ALTER TABLE {{database}}.texts {{on_cluster}}
    MODIFY COLUMN input String CODEC(ZSTD(3)) SETTINGS (max_compress_block_size = 4194304),
    MODIFY COLUMN output String CODEC(ZSTD(3)) SETTINGS (max_compress_block_size = 4194304)
