-- fences: the number that a move of a partition's rows must carry to take effect. Whoever takes a partition over, or doesn't know what
-- became of a move, writes a greater one; the greatest counts. A move that arrives late finds it and copies nothing.
CREATE TABLE IF NOT EXISTS {{database}}.fences {{on_cluster}}
(
    origin_partition UInt16,
    number SimpleAggregateFunction(max, UInt64)
)
ENGINE = {{replicated}}AggregatingMergeTree
ORDER BY origin_partition
