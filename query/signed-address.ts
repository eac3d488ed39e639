// Addresses that carry their own credential: who may read what, signed with the key that signs tokens, good for minutes. Unlike a ticket
// one opens as often as a player asks, and nothing is kept of it.
import { importJWK, jwtVerify, SignJWT } from 'jose'
import { TOKEN_ISSUER } from '#control/admin.ts'
import type { Control } from '#control/members.ts'
import { rotateSigningKeys } from '#control/signing.ts'
import type { ControlView } from '#control/view.ts'
import { ParleyError } from '#proto/errors.ts'
import { isUuid } from '#proto/ids.ts'
import type { Issuer, Opened } from './tickets.ts'

/** No token of a sign-in is an address, and the other way round. */
const AUDIENCE = 'parley-address'

/** What is signed: the request that is answered, and for whom. */
interface Signed {
  readonly organization: string
  readonly by: Issuer
  readonly conversation: string
}

/** The last part of an address. */
export async function signAddress(control: Control, signed: Signed, untilMs: number, nowMs: number): Promise<string> {
  const key = await rotateSigningKeys(control.records, control.view, nowMs)
  const { organization, by, conversation } = signed
  return new SignJWT({ org_id: organization, conversation, ...by })
    .setProtectedHeader({ alg: key.alg, kid: key.kid })
    .setIssuer(TOKEN_ISSUER)
    .setAudience(AUDIENCE)
    .setExpirationTime(Math.ceil(untilMs / 1000))
    .sign(await importJWK(key.jwk, key.alg))
}

/** What an address was signed for. @throws ParleyError QRY_NOT_FOUND for one that is not ours, or has expired. */
export async function openAddress(view: ControlView, token: string | undefined, nowMs: number): Promise<Opened> {
  const gone = (cause?: unknown): ParleyError =>
    new ParleyError('QRY_NOT_FOUND', 'the address is unknown or has expired', cause === undefined ? {} : { cause })
  const { payload } = await jwtVerify(
    token ?? '',
    async ({ kid = '' }) => {
      const record = view.signingKey(kid)
      if (record === undefined) throw gone()
      const { d: _private, ...jwk } = record.jwk
      return importJWK(jwk, record.alg)
    },
    {
      issuer: TOKEN_ISSUER,
      audience: AUDIENCE,
      // Pinned: the token's own header must not choose how it is checked.
      algorithms: ['ES256'],
      requiredClaims: ['exp'],
      currentDate: new Date(nowMs),
    },
  ).catch((error: unknown) => {
    throw gone(error)
  })
  const { org_id, conversation, key, user } = payload
  const by = typeof user === 'string' ? { user } : typeof key === 'string' ? { key } : undefined
  if (typeof org_id !== 'string' || typeof conversation !== 'string' || !isUuid(conversation) || !by) throw gone()
  return { organization: org_id, by, request: { conversation_id: conversation } }
}
