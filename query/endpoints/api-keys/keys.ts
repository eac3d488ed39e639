// /dashboard/api/organization/api-keys: the keys of an organization. A key is shown once, when it is made; only its hash is kept.
import Type from 'typebox'
import { createApiKey } from '#control/admin.ts'
import { settled } from '#control/members.ts'
import type { ApiKey as ApiKeyRecord } from '#control/records.ts'
import { apiKeyKey, apiKeyUseKey, scopesOf } from '#control/records.ts'
import { ApiKeyCreate, ApiKeyCreated, ApiKeyList } from '#proto/dashboard/organizations.ts'
import { ParleyError } from '#proto/errors.ts'
import { authorOf } from '../../auth.ts'
import { endpoint } from '../../endpoint.ts'

const PATH = '/dashboard/api/organization/api-keys'
/** Keys of one organization: every process holds all of them. */
const KEYS_MAX = 1_000
const DAY_MS = 86_400_000

const keyRow = (record: ApiKeyRecord) => {
  const { id, name, created_at, created_by, expires_at = null } = record
  return { id, name, created_at, created_by, scopes: [...scopesOf(record)], expires_at }
}

export const apiKeysList = endpoint({
  method: 'GET',
  path: PATH,
  auth: 'bearer',
  about: 'The API keys of the organization, oldest first; the keys themselves are kept nowhere.',
  response: ApiKeyList,
  work: async ({ control: { view }, organization }) => ({
    api_keys: view
      .apiKeysOf(organization.id)
      .map(({ record }) => ({ ...keyRow(record), last_used_at: view.apiKeyUse(record.id)?.at ?? null }))
      .sort((a, b) => a.created_at.localeCompare(b.created_at) || a.id.localeCompare(b.id)),
  }),
})

export const apiKeysCreate = endpoint({
  method: 'POST',
  path: PATH,
  auth: 'bearer',
  about: 'Makes an API key; it is shown in this answer and never again.',
  request: ApiKeyCreate,
  response: ApiKeyCreated,
  status: 201,
  work: async ({ control, organization, principal, nowMs, log }, { name, scopes, expires_in_days }) => {
    if (control.view.apiKeysOf(organization.id).length >= KEYS_MAX) {
      throw new ParleyError('REQ_BODY_INVALID', `there are ${KEYS_MAX} keys already: delete one first`)
    }
    const { key, record } = await createApiKey(control.records, {
      organization: organization.id,
      name: name.trim(),
      createdBy: authorOf(principal),
      scopes: [...new Set(scopes)],
      expiresAt: expires_in_days === undefined ? null : new Date(nowMs + expires_in_days * DAY_MS).toISOString(),
    })
    await settled(control)
    log.info({ key: record.id, scopes: record.scopes }, 'an API key was made')
    return { api_key: key, ...keyRow(record) }
  },
})

export const apiKeysDelete = endpoint({
  method: 'DELETE',
  path: `${PATH}/{id}`,
  auth: 'bearer',
  about: 'Revokes an API key, everywhere within a second.',
  response: Type.Null(),
  status: 204,
  work: async ({ control, organization, params, log }) => {
    const found = control.view.apiKeysOf(organization.id).find(({ record }) => record.id === params.id)
    if (found === undefined) throw new ParleyError('QRY_NOT_FOUND', 'no such API key', { field: 'id' })
    await control.records.delete(apiKeyKey(found.hash))
    await control.records.delete(apiKeyUseKey(found.record.id))
    await settled(control)
    log.info({ key: found.record.id }, 'an API key was revoked')
    return null
  },
})
