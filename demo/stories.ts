// The demo's traffic as data: each story is one conversation's requests in the order in which they must arrive.
import { hash } from 'node:crypto'
import type { Random } from './random.ts'
import type { Person, Topic } from './world.ts'
import { fill, toolFailures, topics } from './world.ts'

/** One HTTP request of the demo. `address` says which of the two base addresses it goes to. */
export interface DemoRequest {
  readonly address: 'rest' | 'otel'
  readonly path: string
  readonly body: Readonly<Record<string, unknown>>
  /** Events that the dashboard should show for it. */
  readonly events: number
}

/** One conversation. */
export type Story = readonly DemoRequest[]

/** What a story needs to know. */
export interface Scene {
  readonly random: Random
  readonly person: Person
  /** Unix ms at which the conversation begins. */
  readonly startMs: number
}

const rest = (path: string, body: Record<string, unknown>, events: number): DemoRequest => ({
  address: 'rest',
  path,
  body,
  events,
})

const exchange = (random: Random): { topic: Topic; ask: string; answer: string } => {
  const topic = random.pick(topics)
  const order = `A-${random.between(10_000, 99_999)}`
  return { topic, ask: fill(random.pick(topic.ask), order), answer: fill(random.pick(topic.answer), order) }
}

/** A chat agent with tools, as the conversation SDK sends it. */
export function chat({ random, person, startMs }: Scene): Story {
  const session_id = random.uuid()
  const agent = random.skewed(['support-agent', 'sales-agent', 'billing-agent'])
  const requests: DemoRequest[] = [
    rest(
      '/api/v1/capture-session',
      {
        session_id,
        user_data: { user_id: person.id, email: person.email, plan: person.plan, country: person.country },
        metadata: { channel: random.skewed(['web', 'ios', 'android']), release: random.pick(['4.1', '4.2']) },
        timestamp: startMs,
        connection_type: 'chat',
      },
      0,
    ),
  ]
  let at = startMs
  for (let turn = random.between(1, 7); turn > 0; turn--) {
    const { topic, ask, answer } = exchange(random)
    const event_id = random.uuid()
    const toolFails = random.chance(0.06)
    const toolMs = random.latency(180)
    const model = random.skewed(['gpt-5-mini', 'claude-sonnet-4-5'])
    requests.push(
      rest(
        '/api/v1/capture-event',
        {
          event_id,
          session_id,
          primitive_name: agent,
          args: ask,
          result: toolFails ? 'Sorry, I cannot reach our order system right now.' : answer,
          success: !toolFails,
          latency: toolMs + random.latency(900),
          timestamp: at,
          metadata: { model, turn: String(turn), feature: random.skewed(['help', 'checkout', 'account']) },
        },
        1,
      ),
    )
    if (random.chance(0.7)) {
      requests.push(
        rest(
          '/api/v1/capture-event',
          {
            event_id: random.uuid(),
            session_id,
            parent_id: event_id,
            primitive_name: topic.tool,
            primitive_type: 'tool',
            args: JSON.stringify(topic.args(random)),
            result: toolFails ? random.pick(toolFailures) : JSON.stringify(topic.result(random)),
            success: !toolFails,
            latency: toolMs,
            timestamp: at + 40,
          },
          1,
        ),
      )
    }
    at += random.between(15_000, 120_000)
  }
  return requests
}

/** An MCP server that reports its tools, resources and prompts in the server-primitive shape. */
export function mcp({ random, person, startMs }: Scene): Story {
  const session_id = random.uuid()
  const requests: DemoRequest[] = [
    rest(
      '/api/v1/capture-session',
      {
        session_id,
        client_config: random.pick(['claude-desktop 1.2', 'cursor 2.0', 'inspector 0.9']),
        user_data: { userId: person.id, email: person.email, role: person.plan },
        connection_type: 'stdio',
        tools: topics.map(topic => topic.tool),
        timestamp: startMs,
      },
      0,
    ),
  ]
  for (let call = random.between(1, 9), at = startMs; call > 0; call--, at += random.between(800, 20_000)) {
    const topic = random.pick(topics)
    const type = random.skewed(['tool', 'tool', 'resource', 'prompt'])
    const success = !random.chance(0.05)
    requests.push(
      rest(
        '/api/v1/capture-event',
        {
          event_id: random.uuid(),
          session_id,
          primitive_type: type,
          primitive_name: type === 'tool' ? topic.tool : type === 'resource' ? 'catalog://prices' : 'summarize-orders',
          args: JSON.stringify(topic.args(random)),
          result: success ? JSON.stringify(topic.result(random)) : random.pick(toolFailures),
          success,
          latency: random.latency(120) + random.unit(),
          timestamp: at,
        },
        1,
      ),
    )
  }
  return requests
}

/** A phone call, reported when it has ended. */
export function voice({ random, person, startMs }: Scene): Story {
  const messages: Record<string, unknown>[] = [{ role: 'system', message: 'You answer the phone of a shop.' }]
  let at = startMs
  let events = 0
  const say = (role: string, message: string): void => {
    const duration = 60 * message.length
    messages.push({ role, message, time: at, endTime: at + duration, secondsFromStart: (at - startMs) / 1000 })
    at += duration + random.latency(700)
  }
  // A greeting that nobody asked for is an exchange without a caller's half.
  events++
  say('bot', 'Hello, this is the shop. How can I help?')
  for (let turn = random.between(1, 5); turn > 0; turn--) {
    const { ask, answer } = exchange(random)
    say('user', ask)
    say('bot', answer)
    events++
  }
  const report = {
    message: {
      type: 'end-of-call-report',
      call: {
        id: random.uuid(),
        type: 'inboundPhoneCall',
        customer: { number: person.phone },
        assistant: { name: 'phone-agent' },
      },
      startedAt: new Date(startMs).toISOString(),
      endedAt: new Date(at).toISOString(),
      durationSeconds: (at - startMs) / 1000,
      endedReason: random.skewed(['customer-ended-call', 'assistant-ended-call', 'silence-timed-out']),
      cost: Number((((at - startMs) / 60_000) * 0.09).toFixed(4)),
      analysis: { successEvaluation: random.chance(0.85) ? 'true' : 'false' },
      artifact: { messages },
    },
  }
  return [rest('/api/voice/v1/webhooks/voice-platform', report, events)]
}

type Attribute = { key: string; value: Record<string, unknown> }
const text = (key: string, value: string): Attribute => ({ key, value: { stringValue: value } })
const whole = (key: string, value: number): Attribute => ({ key, value: { intValue: String(value) } })

interface DemoSpan {
  readonly name: string
  readonly startMs: number
  readonly ms: number
  readonly attributes: Attribute[]
  readonly parent?: string
  readonly failed?: string
}

function span(random: Random, traceId: string, from: DemoSpan): { id: string; json: Record<string, unknown> } {
  const id = random.hex(8)
  return {
    id,
    json: {
      traceId,
      spanId: id,
      ...(from.parent === undefined ? {} : { parentSpanId: from.parent }),
      name: from.name,
      kind: 1,
      startTimeUnixNano: `${from.startMs}${String(random.between(0, 999_999)).padStart(6, '0')}`,
      endTimeUnixNano: `${from.startMs + from.ms + 1}${String(random.between(0, 999_999)).padStart(6, '0')}`,
      attributes: from.attributes,
      status: from.failed === undefined ? {} : { code: 2, message: from.failed },
    },
  }
}

const envelope = (service: string, scope: string, spans: Record<string, unknown>[]): DemoRequest => ({
  address: 'otel',
  path: '/v1/traces',
  body: {
    resourceSpans: [
      {
        resource: { attributes: [text('service.name', service), text('deployment.environment.name', 'demo')] },
        scopeSpans: [{ scope: { name: scope }, spans }],
      },
    ],
  },
  events: spans.length,
})

const parts = (role: string, content: string): string => JSON.stringify([{ role, parts: [{ type: 'text', content }] }])

/** An agent instrumented by the OpenTelemetry GenAI conventions: agent, model and tool spans, one trace a turn. */
export function genAiTraces({ random, person, startMs }: Scene): Story {
  const conversation = random.uuid()
  const story: DemoRequest[] = []
  for (let turn = random.between(1, 4), at = startMs; turn > 0; turn--, at += random.between(20_000, 90_000)) {
    const traceId = random.hex(16)
    const { topic, ask, answer } = exchange(random)
    const identity = [text('gen_ai.conversation.id', conversation), text('user.id', person.id)]
    const failed = random.chance(0.05) ? random.pick(toolFailures) : undefined
    const toolMs = random.latency(150)
    const root = span(random, traceId, {
      name: 'invoke_agent research-agent',
      startMs: at,
      ms: toolMs + 1400,
      attributes: [
        ...identity,
        text('gen_ai.operation.name', 'invoke_agent'),
        text('gen_ai.agent.name', 'research-agent'),
        text('gen_ai.input.messages', parts('user', ask)),
        text('gen_ai.output.messages', parts('assistant', answer)),
      ],
    })
    const model = span(random, traceId, {
      name: 'chat gpt-5-mini',
      startMs: at + 20,
      ms: 900,
      parent: root.id,
      attributes: [
        ...identity,
        text('gen_ai.operation.name', 'chat'),
        text('gen_ai.provider.name', 'openai'),
        text('gen_ai.request.model', 'gpt-5-mini'),
        text('gen_ai.response.model', 'gpt-5-mini-2025-08-07'),
        whole('gen_ai.usage.input_tokens', random.between(200, 4000)),
        whole('gen_ai.usage.output_tokens', random.between(20, 700)),
        text('gen_ai.input.messages', parts('user', ask)),
        text('gen_ai.output.messages', parts('assistant', answer)),
      ],
    })
    const tool = span(random, traceId, {
      name: `execute_tool ${topic.tool}`,
      startMs: at + 950,
      ms: toolMs,
      parent: root.id,
      ...(failed === undefined ? {} : { failed }),
      attributes: [
        text('gen_ai.operation.name', 'execute_tool'),
        text('gen_ai.tool.name', topic.tool),
        text('gen_ai.tool.call.arguments', JSON.stringify(topic.args(random))),
        ...(failed === undefined ? [text('gen_ai.tool.call.result', JSON.stringify(topic.result(random)))] : []),
        text('customer.tier', person.plan),
      ],
    })
    // Exporters send what ends first: the root comes last.
    story.push(envelope('research-service', 'demo.gen-ai', [model.json, tool.json, root.json]))
  }
  return story
}

/** An application that names everything by the contract's own attributes. */
export function plainTraces({ random, person, startMs }: Scene): Story {
  const session = `planner-${hash('sha1', `${person.id}/${startMs}`, 'hex').slice(0, 12)}`
  const traceId = random.hex(16)
  const { topic, ask, answer } = exchange(random)
  const identity = [text('service.session_id', session), text('service.user_id', person.id)]
  const root = span(random, traceId, {
    name: 'planner',
    startMs,
    ms: random.latency(2200),
    attributes: [...identity, text('input', ask), text('output', answer), text('feature.name', 'planning')],
  })
  const failed = random.chance(0.08) ? random.pick(toolFailures) : undefined
  const tool = span(random, traceId, {
    name: `tool.${topic.tool}`,
    startMs: startMs + 30,
    ms: random.latency(240),
    parent: root.id,
    ...(failed === undefined ? {} : { failed }),
    attributes: [
      ...identity,
      text('input', JSON.stringify(topic.args(random))),
      text('output', failed ?? JSON.stringify(topic.result(random))),
    ],
  })
  return [envelope('planner-service', 'demo.planner', [tool.json, root.json])]
}

/** The kinds of stories, most frequent first. */
export const stories = [chat, mcp, genAiTraces, voice, plainTraces] as const
