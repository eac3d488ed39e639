// The settings of the query node.
import { corsOrigins, outgoingPrivateHosts, pricesFile, queryMaxBodyBytes, secretKeys } from '#runtime/config.ts'
import { choice, HTTP, integer, text, url } from '#runtime/settings.ts'

/** Declared as data; the README's table is compared with it. */
export const querySettings = {
  host: text('PARLEY_QUERY_HOST', 'address the query node listens on; the launcher sets 127.0.0.1', '127.0.0.1'),
  port: integer('PARLEY_QUERY_PORT', 'port of the query node; 0 picks a free one and logs it; the launcher picks one', {
    default: 0,
    min: 0,
    max: 65535,
  }),
  maxBodyBytes: queryMaxBodyBytes,
  maxSeconds: integer('PARLEY_QUERY_MAX_SECONDS', 'time one store query may take', { default: 20, min: 1, max: 600 }),
  maxMemoryMb: integer('PARLEY_QUERY_MAX_MEMORY_MB', 'memory one store query may take, in MiB', {
    default: 1024,
    min: 64,
    max: 1024 * 1024,
  }),
  maxRows: integer('PARLEY_QUERY_MAX_ROWS', 'rows one store query may read; 0 = no limit', {
    default: 2_000_000_000,
    min: 0,
    max: Number.MAX_SAFE_INTEGER,
  }),
  organizationRows: integer(
    'PARLEY_QUERY_ORGANIZATION_ROWS',
    'rows a minute that store queries of one organization may read at one query node; beyond, it is told to come back. 0 = no limit',
    { default: 0, min: 0, max: Number.MAX_SAFE_INTEGER },
  ),
  organizationSeconds: integer(
    'PARLEY_QUERY_ORGANIZATION_SECONDS',
    'seconds a minute that store queries of one organization may take together at one query node; beyond, it is told to come back. 0 = no limit',
    { default: 0, min: 0, max: Number.MAX_SAFE_INTEGER },
  ),
  connections: integer('PARLEY_QUERY_STORE_CONNECTIONS', 'store queries that run at once', {
    default: 16,
    min: 1,
    max: 1000,
  }),
  organizationQueries: integer(
    'PARLEY_QUERY_ORGANIZATION_QUERIES',
    'store queries of one organization that run at once; more wait their turn',
    { default: 8, min: 1, max: 1000 },
  ),
  daysMb: integer(
    'PARLEY_QUERY_DAYS_MB',
    'memory for whole days of organizations from which figures are answered, in MiB; the days of those that were asked for last are kept. 0 = every answer is read',
    { default: 1024, min: 0, max: 1024 * 1024 },
  ),
  freshMs: integer(
    'PARLEY_QUERY_FRESH_MS',
    'how old what kept days say may be, in milliseconds, where events of an organization arrive densely: many questions then share one look at the store. 0 = every question looks',
    { default: 1500, min: 0, max: 60_000 },
  ),
  checkResponses: choice(
    'PARLEY_QUERY_CHECK_RESPONSES',
    'compare every answer with its schema, for tests and development',
    ['off', 'on'],
    'off',
  ),
  corsOrigins,
  outgoingPrivateHosts,
  publicUrl: url(
    'PARLEY_PUBLIC_URL',
    'address of parley as browsers see it, for sign-in and recordings; the launcher sets its own',
    {
      required: false,
      schemes: HTTP,
    },
  ),
  passwordSignIn: choice('PARLEY_PASSWORD_SIGN_IN', 'local accounts may sign in by password', ['on', 'off'], 'on'),
  signUp: choice(
    'PARLEY_SIGN_UP',
    '`open` lets everybody in whom the identity provider knows, `invited` only addresses that a member has invited',
    ['open', 'invited'],
    'open',
  ),
  oidcIssuer: url(
    'PARLEY_OIDC_ISSUER',
    'identity provider (OpenID Connect), for example https://accounts.google.com; needs PARLEY_PUBLIC_URL, whose /auth/callback it has to know',
    { required: false, schemes: HTTP },
  ),
  oidcClientId: text('PARLEY_OIDC_CLIENT_ID', 'id of parley at the identity provider'),
  oidcClientSecret: text(
    'PARLEY_OIDC_CLIENT_SECRET',
    'secret of parley at the identity provider; empty for a public client',
  ),
  oidcName: text('PARLEY_OIDC_NAME', 'what people call the identity provider', 'single sign-on'),
  prices: pricesFile,
  secretKeys,
} as const
