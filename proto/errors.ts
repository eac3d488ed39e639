// Every error parley can answer or log: code -> status and text. Codes never change meaning; a retired code is never reused.
// docs/errors.md lists the same codes; a test holds the two together.

/** One row of the table: HTTP status (0 = never answered over HTTP) and the sentence a caller reads. */
export interface ErrorEntry {
  readonly status: number
  readonly text: string
}

/** The table. `text` is the public sentence; details (field, offset, limit) are appended by the thrower. */
export const errors = {
  // requests
  REQ_BODY_TOO_LARGE: { status: 413, text: 'Request body too large' },
  REQ_BODY_INVALID: { status: 400, text: 'Invalid request body' },
  REQ_JSON_INVALID: { status: 400, text: 'Invalid JSON' },
  REQ_ENCODING_UNSUPPORTED: { status: 400, text: 'Unsupported content encoding' },
  REQ_ENCODING_INVALID: { status: 400, text: 'The compressed body cannot be read' },
  REQ_TYPE_UNSUPPORTED: { status: 400, text: 'Unsupported content type' },
  REQ_ROUTE_UNKNOWN: { status: 404, text: 'Not found' },
  REQ_METHOD_UNKNOWN: { status: 405, text: 'Method not allowed' },
  REQ_HEAD_INVALID: { status: 400, text: 'The request line or a header is not valid' },
  REQ_FRAMING_INVALID: { status: 400, text: 'The request does not say plainly where it ends' },
  REQ_TIMEOUT: { status: 408, text: 'The request came too slowly' },
  REQ_SHARE: { status: 429, text: 'Too many requests of this address or credential at a time; send again later' },
  REQ_CROWDED: { status: 503, text: 'Too many requests at a time; send again later' },
  // credentials
  AUTH_ORG_MISSING: { status: 401, text: 'The organization header is missing' },
  AUTH_ORG_INVALID: { status: 401, text: 'The organization id is not a uuid' },
  AUTH_ORG_UNKNOWN: { status: 401, text: 'Unknown organization' },
  AUTH_ORG_INACTIVE: { status: 401, text: 'The organization is not active' },
  AUTH_CREDENTIAL_MISSING: { status: 401, text: 'A credential is required' },
  AUTH_CREDENTIAL_INVALID: { status: 401, text: 'The credential is not valid' },
  AUTH_FORBIDDEN: { status: 403, text: 'No access to the requested organization' },
  AUTH_ROLE: { status: 403, text: 'The credential does not allow this' },
  AUTH_LAST_OWNER: { status: 400, text: 'An organization must keep an owner' },
  AUTH_SIGN_IN_FAILED: { status: 401, text: 'The sign-in failed' },
  AUTH_SIGNED_OUT: { status: 401, text: 'Nobody is signed in' },
  AUTH_NOT_INVITED: { status: 403, text: 'Only invited addresses may sign in' },
  AUTH_CROSS_SITE: { status: 403, text: 'The request comes from another site' },
  AUTH_METHOD_OFF: { status: 404, text: 'This way of signing in is switched off' },
  AUTH_ATTEMPTS: { status: 429, text: 'Too many attempts; try again later' },
  AUTH_PROVIDER_FAILED: { status: 502, text: 'The identity provider does not answer as it should' },
  AUTH_ORG_AMBIGUOUS: { status: 400, text: 'Name the organization with x-org-id' },
  // ingestion
  ING_SESSION_UNKNOWN: { status: 404, text: 'Unknown session_id' },
  ING_VOICE_ORG_MISSING: { status: 422, text: 'The x-org-id header is missing' },
  ING_VOICE_ORG_INVALID: { status: 400, text: 'The organization is malformed, unknown or inactive' },
  ING_VOICE_TYPE: { status: 400, text: 'message.type must be end-of-call-report' },
  ING_VOICE_CALL_ID: { status: 400, text: 'message.call.id is required' },
  ING_VOICE_NUMBER: { status: 400, text: 'The caller number is missing' },
  ING_VOICE_TRANSCRIPT_TOO_LARGE: { status: 413, text: 'The transcript is over one megabyte' },
  ING_VOICE_TRANSCRIPT_MISSING: { status: 422, text: 'The report has no usable transcript' },
  ING_OTLP_INVALID: { status: 400, text: 'The OTLP request cannot be read' },
  ING_OTLP_NOT_TRACES: { status: 400, text: 'This looks like another OTLP signal, not traces' },
  ING_OTLP_SIGNAL: { status: 404, text: 'parley takes no logs; set OTEL_LOGS_EXPORTER=none where the exporter runs' },
  ING_PAYLOAD_TOO_LARGE: { status: 413, text: 'The payload does not fit one message even when compressed' },
  ING_RATE: { status: 429, text: 'The organization sends more than it may; send again later' },
  ING_FULL: { status: 503, text: 'Ingestion is full for the moment; send again later' },
  ING_UNAVAILABLE: { status: 503, text: 'Ingestion is not available for the moment; send again later' },
  // reads
  QRY_NOT_FOUND: { status: 404, text: 'Not found' },
  QRY_PAYLOAD_GONE: { status: 404, text: 'The payload of the event is no longer held' },
  QRY_STORE_FAILED: { status: 500, text: 'The store could not answer' },
  QRY_LIMIT: { status: 500, text: 'The question takes more time, memory or rows than it may; ask for less' },
  QRY_RATE: { status: 429, text: 'The organization asks more of the store than it may; ask again later' },
  QRY_UNREACHABLE: { status: 502, text: 'The dashboard API does not answer for the moment' },
  QRY_CANCELLED: { status: 0, text: 'The client went away before the answer' },
  SQL_REFUSED: { status: 400, text: 'The SQL is not allowed' },
  SQL_OFF: { status: 403, text: 'SQL of users is switched off' },
  // calls to addresses that somebody else wrote
  OUT_FENCED: { status: 403, text: 'The address is not one that parley calls' },
  OUT_FAILED: { status: 502, text: 'The other side does not answer as it should' },
  OUT_RATE: { status: 429, text: 'Too many calls to other servers are under way; ask again later' },
  // dead letters (reasons a stored payload became no row)
  DEAD_ENVELOPE_VERSION: { status: 0, text: 'The envelope is of a version this processor does not know' },
  DEAD_ENVELOPE_BROKEN: { status: 0, text: 'The envelope cannot be read' },
  DEAD_FRAME_KIND: { status: 0, text: 'The frame is of an unknown kind' },
  DEAD_PARSE: { status: 0, text: 'The payload cannot be parsed' },
  DEAD_CRASH: { status: 0, text: 'The payload makes the parser crash' },
  DEAD_REFUSED: { status: 0, text: 'The store refuses the rows of the payload' },
  DEAD_TIMEOUT: { status: 0, text: 'The payload keeps the parser too long' },
  // operation
  CFG_INVALID: { status: 0, text: 'A setting is not valid' },
  RUN_PORT_IN_USE: { status: 0, text: 'A port is in use' },
  RUN_DATA_DIR_IN_USE: { status: 0, text: 'The data directory belongs to a running instance' },
  RUN_DATA_DIR_NEWER: { status: 0, text: 'The data directory was written by a newer version' },
  RUN_ENGINE_FAILED: { status: 0, text: 'An engine did not start' },
  RUN_ENGINE_AWAY: { status: 0, text: 'No connection to an engine' },
  RUN_PART_FAILED: { status: 0, text: 'A part did not start' },
  RUN_MIGRATION_FAILED: { status: 0, text: 'A migration failed' },
  RUN_WALL_FAILED: { status: 0, text: 'The wall between tenants could not be raised' },
  RUN_WALL_OPEN: { status: 0, text: 'The reader of the store is not narrowed to one organization' },
  RUN_CURSOR_NEWER: { status: 0, text: 'The cursor of a partition was written by a newer version' },
  STREAM_CONFLICT: { status: 0, text: 'The record was changed by someone else' },
  INTERNAL: { status: 500, text: 'Internal error' },
  BUG: { status: 500, text: 'Internal error' },
} as const satisfies Record<string, ErrorEntry>

/** A code of the table. */
export type ErrorCode = keyof typeof errors

/** An error with a code. Match `error.code`, never the message or the class. */
export class ParleyError extends Error {
  readonly code: ErrorCode
  /** The field of the request at fault, in dot notation, when there is one. */
  readonly field: string | undefined
  /** When to come back, where that is known. */
  readonly afterS: number | undefined

  constructor(code: ErrorCode, detail?: string, options?: { cause?: unknown; field?: string; afterS?: number }) {
    super(detail === undefined ? errors[code].text : `${errors[code].text}: ${detail}`, {
      ...(options?.cause === undefined ? {} : { cause: options.cause }),
    })
    this.name = 'ParleyError'
    this.code = code
    this.field = options?.field
    this.afterS = options?.afterS
  }

  /** The HTTP status of the code. */
  get status(): number {
    return errors[this.code].status
  }
}

/** True for an error of the table, from whichever copy of this module. */
export function isParleyError(value: unknown): value is ParleyError {
  return value instanceof Error && 'code' in value && typeof value.code === 'string' && value.code in errors
}
