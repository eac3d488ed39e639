// The id of a partition, as system tables name it -> the words that bind an ALTER to it.

/** `IN PARTITION ID '…'`. */
export const inPartition = (id: string): string => `IN PARTITION ID '${id.replaceAll("'", '')}'`
