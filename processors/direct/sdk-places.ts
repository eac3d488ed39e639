// Where the parts of an event stand in the bytes of a range, as numbers, and what few events have besides.
import type { Costing } from '../parsers/cost.ts'
import { NO_USAGE, type Usage } from '../parsers/rows.ts'

/** Places of one event in a list of numbers. Texts: from, to; bits say which hold escapes. */
export const At = {
  ...{ frame: 0, retention: 1, bits: 2, kind: 3, session: 4, sessionEnd: 5, event: 6, parent: 7, name: 8, nameEnd: 9 },
  ...{ input: 10, inputEnd: 11, output: 12, outputEnd: 13, ns: 14, entries: 15, entriesEnd: 16, extra: 17 },
} as const
export const NUMBERS = 18
export const Bit = {
  ...{ foreignSession: 1, upperSession: 2, failed: 4, input: 8, output: 16, escapedName: 32, escapedInput: 64 },
  ...{ escapedOutput: 128 },
} as const
export const Kind = { agent: 0, tool: 1, resource: 2, prompt: 3 } as const
/** Added to kinds of the server-primitive shape. */
export const MCP = 4

/** What few events have. */
export interface Extra {
  conversationId: string
  sessionId: string
  eventId: string
  parentId: string
  name: string
  input: string | null
  output: string | null
  errorType: string
  errorMessage: string
  model: string
  provider: string
  usage: Usage
  costing: Costing
  checkpoints: string
  readonly notes: [key: string, text: string][]
}

const NO_COSTING: Costing = { is: 'none' }
export const nothing: Extra = {
  ...{
    conversationId: '',
    sessionId: '',
    eventId: '',
    parentId: '',
    name: '',
    input: null,
    output: null,
    errorType: '',
  },
  ...{ errorMessage: '', model: '', provider: '', usage: NO_USAGE, costing: NO_COSTING, checkpoints: '', notes: [] },
}
