// The receiver's settings.
import { clickhouseDatabase, clickhouseUrl, corsOrigins, natsUrl, queryMaxBodyBytes } from '#runtime/config.ts'
import { choice, HTTP, integer, text, url } from '#runtime/settings.ts'

const MiB = 1024 * 1024

export const ingestSettings = {
  natsUrl,
  clickhouseUrl,
  clickhouseDatabase,
  host: text('PARLEY_HOST', 'address on which receivers listen', '127.0.0.1'),
  port: integer('PARLEY_PORT', 'port of the REST interface; 0 picks a free one', { default: 8080, min: 0, max: 65535 }),
  otlpPort: integer('PARLEY_OTLP_PORT', 'port of the trace collector; 0 picks a free one', {
    default: 4318,
    min: 0,
    max: 65535,
  }),
  queryUrl: url(
    'PARLEY_QUERY_URL',
    'query node to which receivers pass every path that is not theirs; the launcher sets it',
    {
      required: false,
      schemes: HTTP,
    },
  ),
  corsOrigins,
  queryMaxBodyBytes,
  forwardRequests: integer(
    'PARLEY_FORWARD_REQUESTS',
    'requests that one receiver has at the query node at a time, streams of events among them; beyond, 503',
    { default: 1024, min: 1, max: 65_536 },
  ),
  forwardAddressRequests: integer(
    'PARLEY_FORWARD_ADDRESS_REQUESTS',
    'how many of them may be of one address; beyond, 429. A proxy in front makes one address of all: then as many as PARLEY_FORWARD_REQUESTS',
    { default: 512, min: 1, max: 65_536 },
  ),
  forwardCredentialRequests: integer(
    'PARLEY_FORWARD_CREDENTIAL_REQUESTS',
    'how many of them may be of one token, of the API keys of one organization, or of one address without either; beyond, 429',
    { default: 256, min: 1, max: 65_536 },
  ),
  forwardBytes: integer(
    'PARLEY_FORWARD_BYTES',
    'bytes of bodies that one receiver holds for the query node; beyond, the oldest that is not whole gives way and hears 503',
    { default: 64 * MiB, min: 2 * MiB, max: 16 * 1024 * MiB },
  ),
  ids: choice(
    'PARLEY_IDS',
    '`strict` refuses session and event ids that are no uuids, `map` maps them to uuids and keeps the original',
    ['strict', 'map'],
    'strict',
  ),
  unknownSession: choice(
    'PARLEY_UNKNOWN_SESSION',
    '`reject` answers 404 to an event of an unknown session, `create` takes it',
    ['reject', 'create'],
    'reject',
  ),
  maxBodyBytes: integer('PARLEY_MAX_BODY_BYTES', 'largest request body, after decompression', {
    default: 16 * MiB,
    min: 1024,
    max: 64 * MiB,
  }),
  maxPendingBytes: integer(
    'PARLEY_MAX_PENDING_BYTES',
    'bytes of requests that one receiver holds without having answered; beyond, senders get 503',
    { default: 256 * MiB, min: MiB, max: 16 * 1024 * MiB },
  ),
  maxPendingRequests: integer(
    'PARLEY_MAX_PENDING_REQUESTS',
    'payloads that one receiver holds without having answered; beyond, senders get 503',
    { default: 50_000, min: 100, max: 10_000_000 },
  ),
  holdMs: integer(
    'PARLEY_HOLD_MS',
    'how long SDK and voice requests, whose senders never try again, are held while nothing can be stored; then 503',
    { default: 8_000, min: 0, max: 60_000 },
  ),
  rateRequests: integer(
    'PARLEY_RATE_REQUESTS',
    'requests per second that one organization may send to one receiver; 0 = no limit',
    { default: 0, min: 0, max: 1_000_000_000 },
  ),
  rateBytes: integer(
    'PARLEY_RATE_BYTES',
    'body bytes per second that one organization may send to one receiver, as they come; 0 = no limit',
    { default: 0, min: 0, max: 1_000_000_000_000 },
  ),
  envelopeBytes: integer('PARLEY_ENVELOPE_BYTES', 'size at which a stream message full of payloads is sent', {
    default: 512 * 1024,
    min: 4096,
    max: 8 * MiB,
  }),
  knownSessions: integer('PARLEY_KNOWN_SESSIONS', 'sessions that one receiver remembers without asking the store', {
    default: 2_000_000,
    min: 1000,
    max: 100_000_000,
  }),
  sessionWaitMs: integer('PARLEY_SESSION_WAIT_MS', 'how long an event waits for its session before it is refused', {
    default: 1_000,
    min: 100,
    max: 60_000,
  }),
  sessionWaits: integer('PARLEY_SESSION_WAITS', 'events that may wait for their sessions at a time', {
    default: 10_000,
    min: 1,
    max: 1_000_000,
  }),
} as const
