// The dead-letter stream's wire form: the body is the frame's bytes as they arrived (the whole message when `frame` is -1), the
// headers say whose they are, where they stood and why they became no rows.

/** Headers of a dead letter. */
export const DeadHeader = {
  code: 'Parley-Code',
  reason: 'Parley-Reason',
  partition: 'Parley-Partition',
  sequence: 'Parley-Sequence',
  frame: 'Parley-Frame',
  organization: 'Parley-Organization',
  kind: 'Parley-Kind',
  encoding: 'Parley-Encoding',
  receivedAt: 'Parley-Received-At',
  /** The event id that the receiver minted, as a uuid; the nil uuid when the sender gave one. */
  mintedId: 'Parley-Minted-Id',
  /** Present when the body was cut because it fills a message alone: its whole length. */
  cut: 'Parley-Cut',
} as const
