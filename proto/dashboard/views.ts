// Shapes of saved views: the filters of a page under a name, for oneself or for everyone of the organization.
import type { Static } from 'typebox'
import Type from 'typebox'
import { DateTime, filterFields, Uuid } from '#proto/dashboard/shared.ts'

/** Views of an organization at most, and bytes of the filters of one: all of them are one record. */
export const VIEWS_MAX = 100
export const VIEW_FILTERS_MAX_BYTES = 4096

const Name = Type.String({ minLength: 1, maxLength: 120, pattern: '\\S', expected: 'more than blanks' })
/** Whose filters they are: pages name themselves. */
const Page = Type.String({ pattern: '^[a-z0-9][a-z0-9/_-]{0,63}$' })
/** The base filters are checked; what else a page filters by is its own and stays as it is. */
const Filters = Type.Object(filterFields)

export const View = Type.Object({
  id: Uuid,
  name: Type.String(),
  page: Page,
  filters: Filters,
  /** False: seen by its author alone. */
  shared: Type.Boolean(),
  /** Id of a user, or `api-key`. */
  created_by: Type.String(),
  created_at: DateTime,
  updated_at: DateTime,
})
export type View = Static<typeof View>
export const ViewList = Type.Array(View)

export const ViewsRequest = Type.Object({ page: Type.Optional(Page) })

export const ViewCreate = Type.Object({
  name: Name,
  page: Page,
  filters: Type.Object(filterFields, { default: {} }),
  /** Absent: private for a user, shared for an API key. */
  shared: Type.Optional(Type.Boolean()),
})
/** Absent fields stay as they are. */
export const ViewUpdate = Type.Object({
  name: Type.Optional(Name),
  page: Type.Optional(Page),
  filters: Type.Optional(Filters),
  shared: Type.Optional(Type.Boolean()),
})
