// Shapes of signing in.
import Type from 'typebox'
import { DateTime, Nullable, Uuid } from '#proto/dashboard/shared.ts'

export const SignInMethods = Type.Object({
  password: Type.Boolean(),
  /** The identity provider: what to call it, and where signing in begins; null without one. */
  oidc: Nullable(Type.Object({ name: Type.String(), url: Type.String() })),
  /** Whether an address that nobody has invited may sign in through it. */
  sign_up: Type.Enum(['open', 'invited']),
})

/** A path of this site; what could lead elsewhere is no path. */
export const LoginRequest = Type.Object({
  redirect: Type.String({ pattern: '^/(?![/\\\\])[^\\u0000-\\u0020\\u007f\\\\]*$', maxLength: 1000, default: '/' }),
})

/** What the identity provider leads back with: a code, or why not. */
export const CallbackQuery = Type.Object({
  code: Type.Optional(Type.String({ minLength: 1, maxLength: 4096 })),
  state: Type.String({ minLength: 1, maxLength: 200, default: '-' }),
  error: Type.Optional(Type.String({ maxLength: 200 })),
})

export const CallbackBody = Type.Object({
  code: Type.String({ minLength: 1, maxLength: 4096 }),
  state: Type.String({ minLength: 1, maxLength: 200 }),
})

export const PasswordSignIn = Type.Object({
  email: Type.String({ minLength: 1, maxLength: 254 }),
  password: Type.String({ minLength: 1, maxLength: 1000 }),
})

export const PasswordChange = Type.Object({
  current_password: Type.String({ minLength: 1, maxLength: 1000 }),
  new_password: Type.String({ minLength: 12, maxLength: 1000 }),
})

/** `organization_id`: the one that the token chooses. */
export const RefreshRequest = Type.Object({ organization_id: Type.Optional(Uuid) })

export const Token = Type.Object({ token: Type.String(), expires_at: DateTime })

export const KeySet = Type.Object({
  keys: Type.Array(Type.Object({ kid: Type.String(), alg: Type.String(), kty: Type.String(), use: Type.String() })),
})
