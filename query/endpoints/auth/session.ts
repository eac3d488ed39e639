// GET /auth/methods and /auth/jwks.json, POST /auth/refresh and /auth/sign-out: what there is, tokens by cookie, and the end.
import Type from 'typebox'
import { KeySet, RefreshRequest, SignInMethods, Token } from '#proto/dashboard/auth.ts'
import { openEndpoint } from '../../endpoint.ts'
import { Reply } from '../../reply.ts'

export const signInMethods = openEndpoint({
  method: 'GET',
  path: '/auth/methods',
  about: 'The ways of signing in that this installation has.',
  response: SignInMethods,
  work: async ({ signIn }) => new Reply(signIn.methods()),
})

export const tokenKeys = openEndpoint({
  method: 'GET',
  path: '/auth/jwks.json',
  about: 'The public keys that bearer tokens can be checked with.',
  response: KeySet,
  work: async ({ signIn }) => new Reply(signIn.keys()),
})

export const refreshToken = openEndpoint({
  method: 'POST',
  path: '/auth/refresh',
  about: 'A new token for the browser that is signed in by cookie, for another organization if it names one.',
  request: RefreshRequest,
  response: Token,
  errors: ['AUTH_SIGNED_OUT', 'AUTH_CROSS_SITE', 'AUTH_FORBIDDEN'],
  work: async ({ signIn, visitor }, { organization_id }) =>
    new Reply(await signIn.refresh(visitor.headers, organization_id?.toLowerCase())),
})

export const signOut = openEndpoint({
  method: 'POST',
  path: '/auth/sign-out',
  about: 'Ends the sign-in of the browser and every token of it.',
  response: Type.Null(),
  status: 204,
  errors: ['AUTH_SIGNED_OUT', 'AUTH_CROSS_SITE'],
  work: async ({ signIn, visitor }) =>
    new Reply(null, { status: 204, headers: { 'set-cookie': await signIn.signOut(visitor.headers) } }),
})
