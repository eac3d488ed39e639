// The paths of the receivers, which take what agents send, for the document: the query node answers it, and does not answer them.
import type { ErrorCode } from '#proto/errors.ts'
import { CaptureEventBody } from '#proto/sdk/capture-event.ts'
import { CaptureSessionBody } from '#proto/sdk/capture-session.ts'
import type { Json } from './openapi-schemas.ts'

/** A path that payloads are sent to. */
export interface IngestionPath {
  readonly path: string
  readonly operationId: string
  readonly about: string
  /** Schemes of components.securitySchemes, of which one is needed. */
  readonly security: readonly Json[]
  /** Schemas by content type. */
  readonly takes: Readonly<Record<string, Json>>
  readonly answers: Json
  readonly codes: readonly ErrorCode[]
  /** Elsewhere than the others. */
  readonly servers?: readonly Json[]
}

const text: Json = { type: 'string' }
const numbered: Json = { type: 'object', properties: { number: text } }

const Report: Json = {
  type: 'object',
  required: ['message'],
  properties: {
    message: {
      type: 'object',
      description: 'Messages of other types, which come while a call runs, are answered 200 and forgotten.',
      required: ['type', 'call'],
      properties: {
        type: { const: 'end-of-call-report' },
        call: { type: 'object', required: ['id'], properties: { id: text, customer: numbered } },
        customer: numbered,
        startedAt: { type: 'string', format: 'date-time' },
        endedAt: { type: 'string', format: 'date-time' },
        endedReason: text,
        durationSeconds: { type: 'number' },
        cost: { type: 'number', minimum: 0, description: 'Of the whole call, in dollars.' },
        transcript: text,
        analysis: { type: 'object' },
        artifact: {
          type: 'object',
          properties: {
            transcript: text,
            messages: { type: 'array', items: { type: 'object' } },
            ...{ recordingUrl: text, stereoRecordingUrl: text, logUrl: text },
          },
        },
      },
    },
  },
}

const Traces: Json = {
  type: 'object',
  description: 'ExportTraceServiceRequest of OTLP 1 in its JSON form.',
  properties: {
    resourceSpans: {
      type: 'array',
      items: {
        type: 'object',
        properties: {
          resource: { type: 'object' },
          scopeSpans: {
            type: 'array',
            items: {
              type: 'object',
              properties: { scope: { type: 'object' }, spans: { type: 'array', items: { type: 'object' } } },
            },
          },
        },
      },
    },
  },
}

const COMMON: readonly ErrorCode[] = [
  ...(['REQ_BODY_TOO_LARGE', 'REQ_ENCODING_UNSUPPORTED', 'REQ_ENCODING_INVALID'] as const),
  ...(['REQ_TYPE_UNSUPPORTED', 'ING_PAYLOAD_TOO_LARGE', 'ING_RATE', 'ING_FULL', 'ING_UNAVAILABLE'] as const),
]
const CREDENTIALS: readonly ErrorCode[] = [
  ...(['AUTH_ORG_MISSING', 'AUTH_ORG_INVALID', 'AUTH_ORG_UNKNOWN', 'AUTH_ORG_INACTIVE'] as const),
  ...(['AUTH_CREDENTIAL_MISSING', 'AUTH_CREDENTIAL_INVALID'] as const),
]
const OF_SDK: readonly ErrorCode[] = [...CREDENTIALS, ...COMMON, 'REQ_BODY_INVALID', 'REQ_JSON_INVALID']

export const INGESTION: readonly IngestionPath[] = [
  {
    path: '/api/v1/capture-session',
    operationId: 'captureSession',
    about: 'Takes a session, once for each conversation, with `user_data.user_id` or `client_config`.',
    security: [{ organization: [] }, { organization: [], apiKey: [] }],
    takes: { 'application/json': CaptureSessionBody as unknown as Json },
    answers: { type: 'object', required: ['session_id'], properties: { session_id: text } },
    codes: OF_SDK,
  },
  {
    path: '/api/v1/capture-event',
    operationId: 'captureEvent',
    about: 'Takes an event of a session: a turn of an agent, or a tool, a resource or a prompt of a server.',
    security: [{ organization: [] }, { organization: [], apiKey: [] }],
    takes: { 'application/json': CaptureEventBody as unknown as Json },
    answers: {
      type: 'object',
      required: ['event_id'],
      properties: { event_id: text, success: { type: 'boolean', description: 'With primitive_type only.' } },
    },
    codes: [...OF_SDK, 'ING_SESSION_UNKNOWN'],
  },
  {
    path: '/api/voice/v1/webhooks/voice-platform',
    operationId: 'reportCall',
    about: 'Takes the report of a call that has ended, and makes it a conversation.',
    security: [{ organization: [] }, { organization: [], apiKey: [] }],
    takes: { 'application/json': Report },
    answers: {
      type: 'object',
      required: ['status'],
      properties: {
        ...{ status: text, session_id: text, user_id: text },
        event_count: { type: 'integer', minimum: 0 },
      },
    },
    codes: [
      ...COMMON,
      ...(['REQ_BODY_INVALID', 'REQ_JSON_INVALID', 'AUTH_CREDENTIAL_MISSING', 'AUTH_CREDENTIAL_INVALID'] as const),
      ...(['ING_VOICE_ORG_MISSING', 'ING_VOICE_ORG_INVALID', 'ING_VOICE_TYPE', 'ING_VOICE_CALL_ID'] as const),
      ...(['ING_VOICE_NUMBER', 'ING_VOICE_TRANSCRIPT_TOO_LARGE', 'ING_VOICE_TRANSCRIPT_MISSING'] as const),
    ],
  },
  {
    path: '/v1/traces',
    operationId: 'exportTraces',
    about: 'Takes spans of OpenTelemetry, as every exporter of OTLP over HTTP sends them.',
    security: [{ collectorOrganization: [] }, { collectorOrganization: [], apiKey: [] }],
    takes: { 'application/json': Traces, 'application/x-protobuf': { type: 'string', format: 'binary' } },
    answers: {
      type: 'object',
      properties: {
        partialSuccess: { type: 'object', properties: { rejectedSpans: text, errorMessage: text } },
      },
    },
    codes: [...CREDENTIALS, ...COMMON, 'ING_OTLP_INVALID', 'ING_OTLP_NOT_TRACES'],
    servers: [
      {
        url: 'http://{host}:4318',
        description: 'The trace collector: PARLEY_OTLP_PORT.',
        variables: { host: { default: 'localhost' } },
      },
    ],
  },
]
