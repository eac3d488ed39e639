// Every answer of the dashboard that says what an instance knows, by what was asked: two instances that know the same give the same.
import type { World } from './world.ts'

/** Where to ask, and as whom. */
export interface Asked {
  readonly queryUrl: string
  readonly organization: string
  readonly apiKey: string
  readonly bearer: string
}

type Question = readonly [method: string, path: string, body?: object]

/**
 * Routes that say nothing of what is known, or only to whoever changes it, or whose window ends with the asking; the others must be among
 * the questions.
 */
export const UNASKED: readonly RegExp[] = [
  /^(PUT|DELETE) /,
  / \/auth\//,
  / \/dashboard\/api\/conversation-audio\/\{token\}$/,
  / \/dashboard\/api\/(exports|exports\/\{ticket\}|live|login-summary)$/,
  /^POST \/dashboard\/api\/(organizations|organizations\/\{id\}\/(leave|members)|organization\/api-keys)$/,
  /^POST \/dashboard\/api\/(dashboard\/charts|views|attribute-rules)$/,
]

/** All questions about a world. What is noted of the asking itself comes before it is. */
export function questionsOf({ conversations, events, receipts, erasedUser, window }: World, id: string): Question[] {
  const charts = ['cost', 'p95_latency', 'active_users'].map(metric => ({ metric, group_by: 'model', filters: window }))
  return [
    ['GET', 'organization/audit'],
    ['GET', 'organization/audit/export'],
    ['GET', 'profile'],
    ['GET', 'organizations'],
    ['GET', `organizations/${id}/members`],
    ['GET', `organizations/${id}/invitations`],
    ...['api-keys', 'summary', 'displayId', 'rejected-requests', 'retention', 'event-keys', 'conversation-keys'].map(
      (name): Question => ['GET', `organization/${name}`],
    ),
    ['GET', `ledger?from=${window.from}&to=${window.to}`],
    ...receipts.map((receipt): Question => ['GET', `receipts/${receipt}`]),
    ...['dashboard/charts', 'views', 'prices', 'attribute-rules', 'erasures', `users/${erasedUser}/erasure`].map(
      (path): Question => ['GET', path],
    ),
    ...[
      ...['user-stories', 'dashboard', 'command-center-summary', 'metadata-distribution', 'tool-stats'],
      ...['tool-time-series', 'tool-error-distribution', 'tool-checkpoint-stats', 'tools-dashboard', 'errors'],
      ...['errors/groups', 'errors/export', 'raw-logs', 'raw-logs/count', 'raw-logs/export', 'intent-keywords'],
    ].map((path): Question => ['POST', path, { ...window, page_size: 200 }]),
    ['POST', 'user-stories', { ...window, group_by: { source: 'user_metadata', key: 'plan' } }],
    ['POST', 'user-stories', { ...window, search_field: 'all', search_value: 'order' }],
    ['POST', 'user-stories/search-options', { ...window, search: 'a' }],
    ['POST', 'raw-logs', { ...window, search: 'order', page_size: 200 }],
    ...charts.map((chart): Question => ['POST', 'charts/query', chart]),
    ...conversations.flatMap((conversation_id): Question[] => [
      ['POST', 'conversation-messages', { conversation_id }],
      ['POST', 'conversation-spans', { conversation_id }],
      ['POST', 'conversation-detail', { conversation_id }],
      ['GET', `conversation-audio?conversation_id=${conversation_id}`],
    ]),
    ...events.flatMap((event_id): Question[] => [
      ['POST', 'event-io', { event_id }],
      ['POST', 'explain-event', { event_id }],
      ['POST', 'attribute-rules/try', { event_id, rules: [{ attribute: 'service.user_id', field: 'name' }] }],
    ]),
    ['POST', 'prices/quote', { model: 'own-model', input_tokens: 1000, output_tokens: 10 }],
  ]
}

/** What is true of the moment of the asking only; addresses are signed anew each time. */
const OF_NOW = /"(expires_at|last_used_at|request_id|url)":("[^"]*"|null)/g

/** One answer; its status too when it is none. */
export async function answerOf(
  { queryUrl, apiKey, bearer }: Asked,
  [method, path, body]: Question,
  as: 'key' | 'bearer' = 'key',
): Promise<unknown> {
  const answer = await fetch(`${queryUrl}/dashboard/api/${path}`, {
    method,
    headers: as === 'key' ? { 'x-api-key': apiKey } : { authorization: `Bearer ${bearer}` },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const text = (await answer.text()).replaceAll(OF_NOW, '"$1":null')
  if (answer.status >= 500) throw new Error(`${path}: ${answer.status} ${text}`)
  // A table by lines, so that one that has gained lines still has the others.
  if (path.startsWith('organization/audit/export')) return text.split('\r\n').map(line => ({ id: line }))
  const value: unknown = text.startsWith('{') || text.startsWith('[') ? JSON.parse(text) : text
  return answer.ok ? value : { status: answer.status, ...(value as object) }
}

/** All answers about a world, by what was asked. People ask, so that nothing is refused. */
export async function answersOf(asked: Asked, world: World): Promise<Record<string, unknown>> {
  const answers: Record<string, unknown> = {}
  for (const question of questionsOf(world, asked.organization)) {
    answers[question.map(part => (typeof part === 'string' ? part : JSON.stringify(part))).join(' ')] = await answerOf(
      asked,
      question,
      'bearer',
    )
  }
  return answers
}

/**
 * What of one answer is missing or other in another one, by path: it may have gained fields, and lists whose entries have ids, such as
 * the audit log, entries.
 */
export function missing(from: unknown, to: unknown, path = ''): string[] {
  if (Array.isArray(from) && Array.isArray(to)) {
    const named = from.every(one => typeof (one as { id?: unknown } | null)?.id === 'string')
    const entries = to as { readonly id?: unknown }[]
    if (!named && from.length !== to.length) return [`${path}: ${to.length} instead of ${from.length}`]
    return from.flatMap((one: { id?: unknown }, i) =>
      missing(one, named ? entries.find(({ id }) => id === one.id) : entries[i], `${path}[${i}]`),
    )
  }
  if (typeof from === 'object' && from !== null && typeof to === 'object' && to !== null) {
    return Object.entries(from).flatMap(([key, value]) =>
      missing(value, (to as Record<string, unknown>)[key], `${path}.${key}`),
    )
  }
  return Object.is(from, to) ? [] : [`${path}: ${JSON.stringify(to)} instead of ${JSON.stringify(from)}`]
}
