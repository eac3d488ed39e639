// Settings -> signing in.
import { ParleyError } from '#proto/errors.ts'
import type { Values } from '#runtime/settings.ts'
import type { querySettings } from '../config.ts'
import { createOidc } from './oidc.ts'
import type { SignIn, SignInOptions } from './service.ts'
import { createSignIn } from './service.ts'

/** Where browsers find an instance that nobody gave an address. */
const LOCAL_URL = 'http://localhost:8080'

/** @throws ParleyError CFG_INVALID where the settings of the identity provider are not whole. */
export function openSignIn(
  settings: Values<typeof querySettings>,
  deps: Pick<SignInOptions, 'control' | 'audit' | 'metrics' | 'log'>,
): SignIn {
  const { oidcIssuer: issuer, oidcClientId: clientId, oidcClientSecret: clientSecret } = settings
  const publicUrl = (settings.publicUrl || LOCAL_URL).replace(/\/$/, '')
  if (issuer !== '') {
    if (clientId === '')
      throw new ParleyError('CFG_INVALID', 'PARLEY_OIDC_CLIENT_ID is required with PARLEY_OIDC_ISSUER')
    if (settings.publicUrl === '') {
      throw new ParleyError('CFG_INVALID', 'PARLEY_PUBLIC_URL is required with PARLEY_OIDC_ISSUER')
    }
    const { protocol, hostname } = new URL(issuer)
    const isLocal = ['localhost', '127.0.0.1', '[::1]'].includes(hostname)
    if (protocol !== 'https:' && !isLocal) throw new ParleyError('CFG_INVALID', 'PARLEY_OIDC_ISSUER must be https')
  }
  return createSignIn({
    ...deps,
    oidc:
      issuer === '' ? null : createOidc({ issuer, clientId, clientSecret, redirectUri: `${publicUrl}/auth/callback` }),
    oidcName: settings.oidcName,
    passwords: settings.passwordSignIn === 'on',
    signUp: settings.signUp,
    publicUrl,
  })
}
