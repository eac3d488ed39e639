-- events_texts_blocks: the columns of events that hold texts are compressed harder, and up to 1 MiB of them together instead of 128 KiB. The
-- metadata of a call hold its messages, and what repeats from call to call is found within a block only: 0034 made blocks small for
-- narrow columns. A block still ends with its granule, so a read unpacks no more rows than before; where rows are narrow, nothing changes.
-- What is stored keeps its blocks until its parts are merged.
ALTER TABLE {{database}}.events {{on_cluster}}
    MODIFY COLUMN input_preview String CODEC(ZSTD(3)) SETTINGS (max_compress_block_size = 1048576),
    MODIFY COLUMN output_preview String CODEC(ZSTD(3)) SETTINGS (max_compress_block_size = 1048576),
    MODIFY COLUMN metadata Map(LowCardinality(String), String) CODEC(ZSTD(3)) SETTINGS (max_compress_block_size = 1048576)
