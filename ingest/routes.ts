// The receiver's paths on one screen. Everything else goes to the query node (forward.ts).
import type { AuthProblem } from '#ingest/auth.ts'
import { credentialCodes, voiceCodes } from '#ingest/auth.ts'
import type { Treatment } from '#ingest/intake.ts'
import { traces } from '#ingest/surfaces/otlp/traces.ts'
import { captureEvent } from '#ingest/surfaces/sdk/capture-event.ts'
import { captureSession } from '#ingest/surfaces/sdk/capture-session.ts'
import { voiceReport } from '#ingest/surfaces/voice/report.ts'
import type { ErrorCode } from '#proto/errors.ts'

/** A path that takes payloads. */
export interface IngestRoute extends Treatment {
  readonly kind: 'ingest'
  /** Label in metrics. */
  readonly name: string
  readonly protocol: 'rest' | 'otlp'
  /** Header that names the organization, in lower case. */
  readonly organizationHeader: string
  readonly authCodes: Readonly<Record<AuthProblem, ErrorCode>>
}

/** OTLP of a signal that is accepted and forgotten: some exporters cannot be told to keep it. */
export interface ForgottenRoute extends Pick<IngestRoute, 'name' | 'organizationHeader' | 'authCodes'> {
  readonly kind: 'forgotten'
  readonly protocol: 'otlp'
}

export type Route =
  | IngestRoute
  | { readonly kind: 'health' | 'ready'; readonly name: string; readonly protocol: 'rest' }
  /** OTLP of a signal that is not taken. */
  | { readonly kind: 'signal'; readonly name: string; readonly protocol: 'otlp' }
  | ForgottenRoute

const sdk = {
  kind: 'ingest',
  protocol: 'rest',
  organizationHeader: 'x-org-id',
  authCodes: credentialCodes,
  retries: false,
} as const

const collector = {
  kind: 'ingest',
  name: 'traces',
  protocol: 'otlp',
  organizationHeader: 'x-service-org-id',
  authCodes: credentialCodes,
  surface: traces,
  retries: true,
} as const

const forgotten = {
  kind: 'forgotten',
  name: 'metrics',
  protocol: 'otlp',
  organizationHeader: 'x-service-org-id',
  authCodes: credentialCodes,
} as const

/** Path -> route. */
export const routes: ReadonlyMap<string, Route> = new Map<string, Route>([
  ['/healthz', { kind: 'health', name: 'healthz', protocol: 'rest' }],
  ['/readyz', { kind: 'ready', name: 'readyz', protocol: 'rest' }],
  ['/api/v1/capture-session', { ...sdk, name: 'capture-session', surface: captureSession }],
  ['/api/v1/capture-event', { ...sdk, name: 'capture-event', surface: captureEvent }],
  ['/api/voice/v1/webhooks/voice-platform', { ...sdk, name: 'voice', surface: voiceReport, authCodes: voiceCodes }],
  ['/v1/traces', collector],
  // Where the exporter of one framework's own SDK goes, below whatever host it is given.
  ['/api/public/otel/v1/traces', collector],
  ['/v1/metrics', forgotten],
  ['/v1/logs', { kind: 'signal', name: 'logs', protocol: 'otlp' }],
])

/**
 * Where an export goes that was posted to the bare address: some exporters take the endpoint of a host for the whole address. Whatever
 * else is posted there is no export, and the query node says so.
 */
export function bareExportOf(path: string, isExport: () => boolean): Route | undefined {
  return /^\/+$/.test(path) && isExport() ? collector : undefined
}

/** The route of a path, if it is the receiver's. Doubled and trailing slashes are forgiven: exporters in the wild send them. */
export function routeOf(path: string): Route | undefined {
  const exact = routes.get(path)
  if (exact !== undefined) return exact
  if (!path.includes('//') && !path.endsWith('/')) return undefined
  return routes.get(path.replaceAll(/\/{2,}/g, '/').replace(/\/$/, ''))
}
