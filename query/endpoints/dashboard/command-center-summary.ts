// POST /dashboard/api/command-center-summary: figures, conversations, failures and tools in one call.
import type { ErrorsRequest } from '#proto/dashboard/errors.ts'
import { CommandCenterRequest, CommandCenterSummary } from '#proto/dashboard/metrics.ts'
import type { Call } from '../../endpoint.ts'
import { endpoint } from '../../endpoint.ts'
import { createMissing } from '../../missing.ts'
import { readErrors } from '../errors/list.ts'
import { askedTools } from '../tools/filters.ts'
import { readToolStats } from '../tools/stats.ts'
import { readStories } from '../user-stories/list.ts'
import { readDashboard } from './metrics.ts'

/** Conversations of a page of user stories at most. */
const STORIES_MAX = 100

export const commandCenterSummary = endpoint({
  method: 'POST',
  path: '/dashboard/api/command-center-summary',
  auth: 'any',
  polled: true,
  about: 'The bodies of dashboard, user-stories, errors and tool-stats in one call; what fails is left out and named.',
  request: CommandCenterRequest,
  response: CommandCenterSummary,
  work: async (asked, request) => {
    // One deadline for all four: a page that shows them together must not wait for the slowest one's last query.
    const call: Call = { ...asked, reader: asked.reader.bounded() }
    // What is wrong with the request is said before anything is under way: a rejection that nobody awaits ends the process.
    const tools = askedTools(call, request)
    const failed: ('user_stories' | 'errors' | 'tool_stats')[] = []
    const part = async <T, E>(name: (typeof failed)[number], reading: Promise<T>, empty: E): Promise<T | E> => {
      const missing = createMissing(call)
      const value = await missing.orElse<T | E>(reading, empty)
      if (missing.any()) failed.push(name)
      return value
    }
    // What open days have gained is read for all parts at once.
    const figures = () => readDashboard(call, request, ['tools', 'prices'])
    // Lists first: while the store reads their rows, figures are added up. Under filters lists borrow what figures have read of edges.
    const ofFilters = request.metadata_filters?.length ? figures() : undefined
    const [user_stories, errors, metrics, tool_stats] = await Promise.all([
      part('user_stories', stories(call, request), {}),
      part('errors', readErrors(call, request), {}),
      ofFilters ?? figures(),
      part('tool_stats', readToolStats(call, tools), []),
    ])
    const partial_data = failed.length > 0 || ('partial_data' in user_stories && user_stories.partial_data)
    return { metrics, user_stories, errors, tool_stats, partial_data, failed_parts: failed.sort() }
  },
})

function stories(call: Call, { cursor: _ofErrors, ...request }: ErrorsRequest) {
  const page_size = Math.min(request.page_size, STORIES_MAX)
  const asked = { ...request, page_size, sort: 'newest', allow_limited_preview: false } as const
  return readStories(call, asked, request.exclude_io ? 'none' : 'previews')
}
