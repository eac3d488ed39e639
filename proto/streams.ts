// The streams, subjects, buckets and keys, as data. streams/apply.ts makes a server match this; nobody else spells a name.

/** Streams and subjects. */
export const streamOf = (partition: number): string => `INGEST_${partition}`
export const subjectOf = (partition: number): string => `ingest.${partition}`
/** Envelopes that create sessions have a subject of their own: who follows sessions costs nobody anything for all the others. */
export const sessionsSubjectOf = (partition: number): string => `ingest.${partition}.sessions`
export const DEAD_STREAM = 'DEAD'
export const deadSubjectOf = (partition: number): string => `dead.${partition}`
export const AUDIT_STREAM = 'AUDIT'
export const AUDIT_SUBJECT = 'audit'
export const BLOCKS_STREAM = 'BLOCKS'
export const blocksSubjectOf = (partition: number): string => `blocks.${partition}`

/** Key-value buckets. */
export const CONTROL_BUCKET = 'control'
export const CURSORS_BUCKET = 'cursors'
export const LEASES_BUCKET = 'leases'
/** By organization: what receivers refused of it lately. Nothing depends on it. */
export const REJECTS_BUCKET = 'rejects'
/** The stream in which a bucket keeps its records. */
export const bucketStreamOf = (bucket: string): string => `KV_${bucket}`
/** A refusal is told for a week. */
export const REJECTS_TTL_MS = 7 * 86_400_000

/** True for the name of a stream, or of a bucket's stream, that parley makes. */
export const isOurStream = (name: string): boolean =>
  /^INGEST_\d+$/.test(name) ||
  [DEAD_STREAM, AUDIT_STREAM, BLOCKS_STREAM].includes(name) ||
  [CONTROL_BUCKET, CURSORS_BUCKET, LEASES_BUCKET, REJECTS_BUCKET].map(bucketStreamOf).includes(name)

/** Keys of the cursors and leases buckets. */
export const cursorKeyOf = (partition: number): string => `partition.${partition}`
/** How far an owner has moved rows of its partition to what became known of their traces. */
export const movesKeyOf = (partition: number): string => `moves.${partition}`
/** What an open intent of a partition names as the homes of its spans. */
export const homesKeyOf = (partition: number, slot: number): string => `homes.${partition}.${slot}`
export const leaseKeyOf = (partition: number): string => `partition.${partition}`
export const memberKeyOf = (member: string): string => `member.${member}`

/** Key of the control bucket that fixes the number of partitions for the life of the data. */
export const LAYOUT_KEY = 'layout'

/**
 * A lease that was not renewed for this long is free. With a second until somebody looks, takes it and has the cursor, what a stopped
 * process held is at work again within ten seconds. A bucket keeps the time it was made with.
 */
export const LEASE_TTL_MS = 8_000

/** Header of an envelope that lists the sessions it creates, so that receivers learn them without the payload. */
export const SESSIONS_HEADER = 'Parley-Sessions'
/** Bytes of that header at most: the server refuses headers over 64 KiB. */
export const SESSIONS_HEADER_MAX_BYTES = 48 * 1024
/** Characters of one entry: 32 bytes (organization, session) in base64url. */
export const SESSION_ENTRY_CHARS = 43

/** How long the server remembers a message id; a receiver sends an envelope again for at most a tenth of it. */
export const DUPLICATE_WINDOW_MS = 600_000
export const RESEND_WINDOW_MS = 60_000
