// /dashboard/api/views: filters of pages that are kept under a name. Who asks sees what is shared and what is their own; a private
// view of someone else is answered like an unknown id.
import { randomUUID } from 'node:crypto'
import Type from 'typebox'
import { changeRecord, readRecord } from '#control/lists.ts'
import { viewsKey } from '#control/records.ts'
import type { View } from '#proto/dashboard/views.ts'
import {
  VIEW_FILTERS_MAX_BYTES,
  VIEWS_MAX,
  ViewCreate,
  ViewList,
  View as ViewShape,
  ViewsRequest,
  ViewUpdate,
} from '#proto/dashboard/views.ts'
import { ParleyError } from '#proto/errors.ts'
import { authorOf, KEY_AUTHOR } from '../../auth.ts'
import type { Call } from '../../endpoint.ts'
import { endpoint } from '../../endpoint.ts'

const PATH = '/dashboard/api/views'

const author = ({ principal }: Call): string => authorOf(principal)

const isVisible = (view: View, call: Call): boolean => view.shared || view.created_by === author(call)

function change(call: Call, how: (views: readonly View[]) => View[]): Promise<View[]> {
  return changeRecord<View[]>(call.records, viewsKey(call.organization.id), (views = []) => how(views))
}

/** @throws ParleyError QRY_NOT_FOUND for a view that is not there, or not for who asks. */
function requireView(views: readonly View[], call: Call, id: string | undefined): View {
  const view = views.find(view => view.id === id && isVisible(view, call))
  if (view === undefined) throw new ParleyError('QRY_NOT_FOUND', 'no such view', { field: 'id' })
  return view
}

/** @throws ParleyError REQ_BODY_INVALID when nobody, or nobody any more, could see it, or when it is too large. */
function requireKeepable(view: View, call: Call): View {
  if (!view.shared && (view.created_by === KEY_AUTHOR || view.created_by !== author(call))) {
    const detail = 'shared must be true: only a user can keep a view private, and only their own'
    throw new ParleyError('REQ_BODY_INVALID', detail, { field: 'shared' })
  }
  if (Buffer.byteLength(JSON.stringify(view.filters)) > VIEW_FILTERS_MAX_BYTES) {
    const detail = `filters must be at most ${VIEW_FILTERS_MAX_BYTES} bytes of JSON`
    throw new ParleyError('REQ_BODY_INVALID', detail, { field: 'filters' })
  }
  return view
}

export const viewsList = endpoint({
  method: 'GET',
  path: PATH,
  auth: 'any',
  about: "The saved views that are shared or one's own, by name; `page` narrows to those of a page.",
  request: ViewsRequest,
  response: ViewList,
  work: async (call, { page }) => {
    const views = (await readRecord<View[]>(call.records, viewsKey(call.organization.id))) ?? []
    return views
      .filter(view => isVisible(view, call) && (page === undefined || view.page === page))
      .sort((x, y) => x.name.localeCompare(y.name, 'en') || (x.id < y.id ? -1 : 1))
  },
})

export const viewsCreate = endpoint({
  method: 'POST',
  path: PATH,
  auth: 'any',
  about: 'Saves the filters of a page under a name, private or shared.',
  request: ViewCreate,
  response: ViewShape,
  status: 201,
  work: async (call, { name, page, filters, shared = author(call) === KEY_AUTHOR }) => {
    const now = new Date(call.nowMs).toISOString()
    const times = { created_at: now, updated_at: now }
    const made = { id: randomUUID(), name: name.trim(), page, filters, shared, created_by: author(call), ...times }
    const view = requireKeepable(made, call)
    await change(call, views => {
      if (views.length < VIEWS_MAX) return [...views, view]
      throw new ParleyError('REQ_BODY_INVALID', `there are ${VIEWS_MAX} views already: delete one first`)
    })
    return view
  },
})

export const viewsUpdate = endpoint({
  method: 'PUT',
  path: `${PATH}/{id}`,
  auth: 'any',
  about: 'Changes a saved view; absent fields stay as they are.',
  request: ViewUpdate,
  response: ViewShape,
  work: async (call, { name, page, filters, shared }) => {
    const { id } = call.params
    const views = await change(call, views => {
      const view = requireView(views, call, id)
      const changed = requireKeepable(
        {
          ...view,
          name: name?.trim() ?? view.name,
          page: page ?? view.page,
          filters: filters ?? view.filters,
          shared: shared ?? view.shared,
          updated_at: new Date(call.nowMs).toISOString(),
        },
        call,
      )
      return views.map(other => (other === view ? changed : other))
    })
    return requireView(views, call, id)
  },
})

export const viewsDelete = endpoint({
  method: 'DELETE',
  path: `${PATH}/{id}`,
  auth: 'any',
  about: 'Deletes a saved view.',
  response: Type.Null(),
  status: 204,
  work: async call => {
    await change(call, views => {
      const view = requireView(views, call, call.params.id)
      return views.filter(other => other !== view)
    })
    return null
  },
})
