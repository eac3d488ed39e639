// A model provider on this machine: OpenAI chat completions, responses and embeddings, Anthropic messages, Gemini generateContent;
// each also streaming. It says what conversation.ts says and keeps what it counted.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { json } from 'node:stream/consumers'
import { anthropicEvents, anthropicMessage } from './anthropic.ts'
import { replyTo, type Usage } from './conversation.ts'
import { geminiChunks, geminiResponse } from './gemini.ts'
import { chatChunks, chatCompletion, response, responseEvents } from './openai.ts'

/** A call that was served. `counted` is false when the answer carried no usage (a stream that was not asked for it). */
export interface Served {
  readonly api: string
  readonly model: string
  readonly usage: Usage
  readonly counted: boolean
}

type Body = Record<string, unknown>

/** A provider that is not yet listening; `served` grows with every call. */
export function createModelServer(): { server: Server; served: Served[] } {
  const served: Served[] = []
  const server = createServer((request, answer) => {
    // Some SDKs record the headers.
    answer.sendDate = false
    void json(request)
      .catch(() => ({}))
      .then(body => serve(request, body as Body, answer, served))
  })
  return { server, served }
}

function serve(request: IncomingMessage, body: Body, answer: ServerResponse, served: Served[]): void {
  const path = (request.url ?? '').split('?')[0] as string
  const model = nameOf(body.model ?? /models\/([^:/]+):/.exec(path)?.[1])
  const streams = body.stream === true || path.endsWith(':streamGenerateContent')
  const reply = replyTo(toolNames(body), resultsIn(body), JSON.stringify(body).replaceAll('\\n', '\n'))
  const serveAs = (api: string, counted: boolean): void => {
    served.push({ api, model, usage: reply.usage, counted })
  }
  if (path.endsWith('/chat/completions')) {
    const wantsUsage = !streams || (body.stream_options as Body | undefined)?.include_usage === true
    serveAs('chat', wantsUsage)
    if (streams) sendEvents(answer, [...chatChunks(model, reply, wantsUsage), '[DONE]'])
    else sendJson(answer, chatCompletion(model, reply))
  } else if (path.endsWith('/responses')) {
    serveAs('responses', true)
    if (streams) sendEvents(answer, responseEvents(model, reply, body), true)
    else sendJson(answer, response(model, reply, body))
  } else if (path.endsWith('/messages')) {
    serveAs('messages', true)
    if (streams) sendEvents(answer, anthropicEvents(model, reply), true)
    else sendJson(answer, anthropicMessage(model, reply))
  } else if (path.includes(':generateContent') || path.includes(':streamGenerateContent')) {
    serveAs('generateContent', true)
    if (streams) sendEvents(answer, geminiChunks(model, reply))
    else sendJson(answer, geminiResponse(model, reply))
  } else if (path.endsWith('/embeddings')) sendJson(answer, embeddings(model, body, served))
  else {
    answer.writeHead(404, { 'content-type': 'application/json' }).end('{"error":{"message":"no such model API"}}')
  }
}

/** Names of the offered tools, in any protocol. */
function toolNames(body: Body): string[] {
  const tools = Array.isArray(body.tools) ? (body.tools as Body[]) : []
  return tools.flatMap(tool => {
    const declared = (tool.functionDeclarations ?? tool.function_declarations) as Body[] | undefined
    if (declared !== undefined) return declared.map(each => nameOf(each.name))
    return [nameOf((tool.function as Body | undefined)?.name ?? tool.name)]
  })
}

function nameOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

/** How many tool results a conversation holds: messages, items, blocks or parts that are one. */
function resultsIn(body: Body): number {
  let count = 0
  const walk = (value: unknown): void => {
    if (Array.isArray(value)) for (const each of value) walk(each)
    else if (typeof value === 'object' && value !== null) {
      const { role, type } = value as Body
      const isResult = role === 'tool' || type === 'function_call_output' || type === 'tool_result'
      if (isResult || 'functionResponse' in value || 'function_response' in value) count++
      else for (const each of Object.values(value)) walk(each)
    }
  }
  walk([body.messages, body.input, body.contents])
  return count
}

function embeddings(model: string, body: Body, served: Served[]): Body {
  const inputs = Array.isArray(body.input) ? body.input : [body.input]
  served.push({ api: 'embeddings', model, usage: { input: 9, output: 0, cached: 0, reasoning: 0 }, counted: true })
  return {
    object: 'list',
    model,
    data: inputs.map((_, index) => ({ object: 'embedding', index, embedding: [0.25, 0.5, 0.75] })),
    usage: { prompt_tokens: 9, total_tokens: 9 },
  }
}

function sendJson(answer: ServerResponse, body: unknown): void {
  answer.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

/** Server-sent events; `named`: each with its type as event name. */
function sendEvents(answer: ServerResponse, events: readonly unknown[], named = false): void {
  answer.writeHead(200, { 'content-type': 'text/event-stream' })
  for (const event of events) {
    if (named) answer.write(`event: ${(event as Body).type as string}\n`)
    answer.write(`data: ${typeof event === 'string' ? event : JSON.stringify(event)}\n\n`)
  }
  answer.end()
}
