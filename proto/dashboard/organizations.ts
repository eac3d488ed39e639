// Shapes of profile, organizations, members, invitations and API keys.
import type { Static } from 'typebox'
import Type from 'typebox'
import { DateTime, Nullable, Uuid } from '#proto/dashboard/shared.ts'

const Name = Type.String({ minLength: 1, maxLength: 200, pattern: '\\S', expected: 'more than blanks' })
/** An address; a sender finds out whether it exists. */
export const Email = Type.String({ format: 'email', maxLength: 254 })
const RoleName = Type.Enum(['viewer', 'member', 'admin', 'owner'])

const organizationFields = {
  id: Uuid,
  name: Type.String(),
  subscription: Type.String(),
  created_at: DateTime,
}

export const Organization = Type.Object(organizationFields)
export type Organization = Static<typeof Organization>
export const OrganizationList = Type.Array(Organization)
export const OrganizationDetail = Type.Object({
  ...organizationFields,
  display_id: Type.String({ minLength: 1 }),
  require_write_key: Type.Boolean(),
})

export const OrganizationCreate = Type.Object({ name: Name })
export const OrganizationUpdate = Type.Object({
  name: Type.Optional(Name),
  /** Ingestion takes an API key with the scope `write` beside the organization id. */
  require_write_key: Type.Optional(Type.Boolean()),
})

/** `display_id` names an organization in addresses of pages. */
const OwnOrganization = Type.Object({
  ...organizationFields,
  role: RoleName,
  display_id: Type.String({ minLength: 1 }),
})

export const Profile = Type.Object({
  user: Type.Object({
    id: Uuid,
    email: Type.String(),
    name: Type.String(),
    picture_url: Nullable(Type.String()),
    created_at: DateTime,
  }),
  /** The one that the token chose, or the only one; null when neither says. */
  organization: Nullable(OwnOrganization),
  organizations: Type.Array(OwnOrganization),
})

export const Member = Type.Object({
  id: Uuid,
  /** Null until the invited signs in. */
  user_id: Nullable(Uuid),
  email: Type.String(),
  name: Nullable(Type.String()),
  role: RoleName,
  status: Type.Enum(['active', 'invited']),
  joined_at: DateTime,
})
export type Member = Static<typeof Member>
export const MemberList = Type.Array(Member)
export const MemberAdd = Type.Object({
  email: Email,
  role: Type.Enum(['viewer', 'member', 'admin', 'owner'], { default: 'member' }),
})
export const MemberUpdate = Type.Object({ role: RoleName })

export const Invitation = Type.Object({
  id: Uuid,
  email: Type.String(),
  role: RoleName,
  created_at: DateTime,
  created_by: Type.String(),
})
export const InvitationList = Type.Array(Invitation)

const ScopeName = Type.Enum(['read', 'write', 'admin'])

export const ApiKey = Type.Object({
  id: Uuid,
  name: Type.String(),
  created_at: DateTime,
  created_by: Type.String(),
  scopes: Type.Array(ScopeName),
  expires_at: Nullable(DateTime),
  /** Exact to some minutes; null = never. */
  last_used_at: Nullable(DateTime),
})
export const ApiKeyList = Type.Object({ api_keys: Type.Array(ApiKey) })

export const ApiKeyCreate = Type.Object({
  name: Name,
  /** Without any, a key reads. */
  scopes: Type.Array(ScopeName, { minItems: 1, maxItems: 3, default: ['read'] }),
  expires_in_days: Type.Optional(Type.Integer({ minimum: 1, maximum: 3650 })),
})

/** `api_key` is shown here and nowhere else. */
export const ApiKeyCreated = Type.Object({
  api_key: Type.String(),
  id: Uuid,
  name: Type.String(),
  created_at: DateTime,
  created_by: Type.String(),
  scopes: Type.Array(ScopeName),
  expires_at: Nullable(DateTime),
})
