// GET /auth/login, GET and POST /auth/callback: to the identity provider, and back with a token.
import Type from 'typebox'
import { CallbackBody, CallbackQuery, LoginRequest, Token } from '#proto/dashboard/auth.ts'
import { isParleyError } from '#proto/errors.ts'
import { openEndpoint } from '../../endpoint.ts'
import { Reply, redirectTo } from '../../reply.ts'

export const login = openEndpoint({
  method: 'GET',
  path: '/auth/login',
  about: 'Leads to the identity provider, and from there back to `redirect`, a path of this site.',
  request: LoginRequest,
  response: Type.Null(),
  status: 302,
  errors: ['AUTH_METHOD_OFF', 'AUTH_PROVIDER_FAILED'],
  work: async ({ signIn }, { redirect }) => {
    const { url, cookie } = await signIn.begin(redirect)
    return redirectTo(url, [cookie])
  },
})

export const callback = openEndpoint({
  method: 'GET',
  path: '/auth/callback',
  about: 'Where the identity provider leads back to: goes on with `#token=…`, or `#error=` and a code.',
  request: CallbackQuery,
  response: Type.Null(),
  status: 302,
  work: async ({ signIn, visitor, log }, { code, state, error }) => {
    try {
      if (code === undefined) {
        const { redirect, cookies } = await signIn.leave(visitor.headers)
        log.info({ error }, 'the identity provider let nobody in')
        return redirectTo(`${redirect}#error=AUTH_SIGN_IN_FAILED`, cookies)
      }
      const { redirect, token, cookies } = await signIn.finish(visitor, code, state)
      // After the `#`: what stands there is sent to no server and stands in no log.
      return redirectTo(`${redirect}#token=${token}`, cookies)
    } catch (failure) {
      if (!isParleyError(failure)) throw failure
      const { redirect, cookies } = await signIn.leave(visitor.headers)
      return redirectTo(`${redirect}#error=${failure.code}`, cookies)
    }
  },
})

export const callbackToken = openEndpoint({
  method: 'POST',
  path: '/auth/callback',
  about: 'The same for pages that take the code themselves; the cookie of /auth/login has to come along.',
  request: CallbackBody,
  response: Token,
  errors: ['AUTH_SIGN_IN_FAILED', 'AUTH_METHOD_OFF', 'AUTH_ATTEMPTS', 'AUTH_NOT_INVITED', 'AUTH_PROVIDER_FAILED'],
  work: async ({ signIn, visitor }, { code, state }) => {
    const { token, expires_at, cookies } = await signIn.finish(visitor, code, state)
    return new Reply({ token, expires_at }, { headers: { 'set-cookie': cookies } })
  },
})
