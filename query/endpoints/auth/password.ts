// POST /auth/sign-in and /auth/password: the way in for machines without an identity provider.
import Type from 'typebox'
import { PasswordChange, PasswordSignIn, Token } from '#proto/dashboard/auth.ts'
import { openEndpoint, personEndpoint } from '../../endpoint.ts'
import { Reply } from '../../reply.ts'

export const signInByPassword = openEndpoint({
  method: 'POST',
  path: '/auth/sign-in',
  about: 'Signs a local account in: a token, and a cookie that fetches further ones.',
  request: PasswordSignIn,
  response: Token,
  errors: ['AUTH_SIGN_IN_FAILED', 'AUTH_METHOD_OFF', 'AUTH_ATTEMPTS', 'AUTH_CROSS_SITE'],
  work: async ({ signIn, visitor }, { email, password }) => {
    const { token, expires_at, cookies } = await signIn.withPassword(visitor, email, password)
    return new Reply({ token, expires_at }, { headers: { 'set-cookie': cookies } })
  },
})

export const changePassword = personEndpoint({
  method: 'POST',
  path: '/auth/password',
  about: 'Changes the own password and ends all sign-ins of the account.',
  request: PasswordChange,
  response: Type.Null(),
  status: 204,
  errors: ['AUTH_SIGN_IN_FAILED', 'AUTH_METHOD_OFF', 'AUTH_ATTEMPTS'],
  work: async ({ signIn, principal }, { current_password, new_password }) => {
    await signIn.changePassword(principal.user, current_password, new_password)
    return null
  },
})
