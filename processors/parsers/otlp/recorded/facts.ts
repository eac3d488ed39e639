// What must be true of the rows of every recording, written by hand after its bytes and the code of its SDK were read. The golden
// files show what parley makes of a recording; this says what a person would expect of the conversation, whoever recorded it:
// a user asks for the weather, the model calls a tool, the tool answers, the model answers.

export const QUESTION = 'What is the weather in Paris?'
export const ANSWER = 'It is 18 °C and sunny in Paris.'
const WEATHER = '18 °C and sunny in Paris'
const ARGS = '{"city":"Paris"}'
const CALL = `[tool_call get_weather(${ARGS})]`

/** What the applications attached to their conversations, and where they ran: a framework's own remarks are of its spans. */
export const ATTACHED = ['plan', 'service.name']

/** A text, or what it must match where an SDK wraps much around it. */
type Said = string | RegExp

/** Facts of a conversation. */
export interface Facts {
  /** The one session that its spans name; '' when the SDK sends none. */
  readonly session: string
  /** The one user that its spans name; '' when the SDK sends none. */
  readonly user: string
  /** Of every model call. */
  readonly model: string
  readonly provider: string
  /** Name, input and output of every agent turn, outermost first; '' where it shows the words of the calls below it. */
  readonly turns: readonly (readonly [name: string, input: Said, output: Said])[]
  /** Input and output of every model call. */
  readonly calls: readonly (readonly [input: Said, output: Said])[]
  /** Name, arguments and result of every tool call; JSON without its blanks, a JSON text without its quotes. */
  readonly tools: readonly (readonly [name: string, input: Said, output: Said])[]
  /** Sums over all events: each call counted once. Cached is part of input, reasoning of output. */
  readonly tokens: {
    readonly input: number
    readonly output: number
    readonly cached: number
    readonly reasoning: number
  }
}

/** A recording: where it differs from the usual, and which facts do not hold yet, with the reason. */
export interface Case extends Partial<Facts> {
  readonly open?: Partial<Record<keyof Facts, string>>
  /** The SDK sends no usage at all. */
  readonly uncounted?: true
}

/** The conversation as the stubbed models hold it with an SDK that sends everything. */
export const usual: Facts = {
  session: 'weather-chat-7',
  user: 'user-42',
  model: 'gpt-4o-mini',
  provider: 'openai',
  turns: [['weather-agent', QUESTION, ANSWER]],
  calls: [
    [QUESTION, CALL],
    [QUESTION, ANSWER],
  ],
  tools: [['get_weather', ARGS, WEATHER]],
  tokens: { input: 290, output: 52, cached: 166, reasoning: 12 },
}

const { tokens } = usual
const object = JSON.stringify({ weather: WEATHER })
const silent: Facts['calls'] = [
  ['', ''],
  ['', ''],
]

const node: Record<string, Case> = {
  'ai-sdk-4': {},
  'ai-sdk-5': {},
  'ai-sdk-6': {},
  // No reasoning tokens in this SDK's GenAI attributes.
  'ai-sdk-7': { tokens: { ...tokens, reasoning: 0 } },
  anthropic: {
    ...{ model: 'claude-sonnet-4-5', provider: 'anthropic' },
    // The client sends no content; the turn and the tool are the application's.
    calls: silent,
    tokens: { ...tokens, reasoning: 0 },
  },
  genkit: {
    // Genkit sends neither: what the application puts into the context is redacted.
    ...{ session: '', user: '' },
    turns: [['weatherChat', QUESTION, ANSWER]],
    // Its usage has the sums alone.
    tokens: { ...tokens, cached: 0, reasoning: 0 },
  },
  langfuse: {},
  langsmith: {},
  mastra: {
    tools: [['get_weather', ARGS, object]],
    // The messages stand on the steps around the calls.
    calls: [
      ['', ''],
      ['', ANSWER],
    ],
  },
  // The agent has no texts of its own; the span of the whole run is no turn.
  'openai-agents': { turns: [['weather-agent', '', '']] },
  'openinference-anthropic': {
    ...{ model: 'claude-sonnet-4-5', provider: 'anthropic' },
    // The client sends a span of its own below each of the instrumentation's.
    tokens: { ...tokens, reasoning: 0 },
  },
  'openinference-langchain': {
    // A tool's only argument comes bare.
    tools: [['get_weather', 'Paris', WEATHER]],
  },
  'openinference-openai': {},
  // The agent span was written without texts: those of its calls are the turn's.
  opentelemetry: { turns: [['weather-agent', '', '']] },
  traceloop: {
    // Its agents are parts of the workflow around them.
    turns: [['weather-chat', '', ANSWER]],
    tokens: { ...tokens, cached: 0, reasoning: 0 },
  },
  voltagent: {
    tools: [['get_weather', ARGS, object]],
    // One span for the whole loop of calls, without what was answered.
    calls: [[QUESTION, '']],
  },
}

/** What CrewAI makes of a task. */
const TASK =
  `\nCurrent Task: ${QUESTION}\n\nThis is the expected criteria for your final answer: One sentence\n` +
  'you MUST return the actual complete content as the final answer, not a summary.'

const python: Record<string, Case> = {
  // The outer span is the application's and has no texts.
  'agent-framework': {
    turns: [
      ['handle request', '', ''],
      ['weather-agent', QUESTION, ANSWER],
    ],
  },
  // It sends no model calls, no usage, no content; the outer span is the application's.
  autogen: {
    ...{ model: '', provider: '', calls: [] },
    turns: [
      ['handle request', QUESTION, ANSWER],
      ['weather_agent', '', ''],
    ],
    tools: [['get_weather', '', '']],
    tokens: { input: 0, output: 0, cached: 0, reasoning: 0 },
    uncounted: true,
  },
  'google-adk': {
    ...{ user: '', model: 'gemini-2.5-flash', provider: 'gcp.gemini' },
    turns: [['weather_agent', '', '']],
  },
  'google-adk-streaming': {
    ...{ user: '', model: 'gemini-2.5-flash', provider: 'gcp.gemini' },
    turns: [['weather_agent', '', '']],
  },
  'google-adk-legacy': {
    ...{ user: '', model: 'gemini-2.5-flash', provider: 'gcp.gemini' },
    turns: [['weather_agent', '', '']],
    calls: [
      [QUESTION, CALL],
      [QUESTION, ANSWER],
    ],
  },
  haystack: {
    // What Python prints of its messages.
    turns: [['Agent.run', '', '']],
    // Tools are no components: they have no spans.
    tools: [],
    tokens: { ...tokens, cached: 0, reasoning: 0 },
  },
  laminar: {},
  'langfuse-python': {},
  'langsmith-python': {},
  litellm: {
    // The callback sends the calls alone, and the session under no key.
    ...{ session: '', turns: [], tools: [] },
    calls: [
      [QUESTION, CALL],
      [QUESTION, ANSWER],
    ],
  },
  livekit: {
    turns: [['weather', QUESTION, ANSWER]],
  },
  // It strikes out what is named session on its own spans, and says so in its place.
  logfire: {
    turns: [['weather-agent {input}', QUESTION, ANSWER]],
  },
  // No model takes part.
  mcp: {
    ...{ model: '', provider: '', calls: [] },
    turns: [['weather-agent', QUESTION, WEATHER]],
    tools: [['get_weather', ARGS, WEATHER]],
    tokens: { input: 0, output: 0, cached: 0, reasoning: 0 },
  },
  mlflow: {
    // Both are metadata of MLflow's trace, which it does not export.
    ...{ session: '', user: '' },
    tokens: { ...tokens, reasoning: 0 },
  },
  'openai-agents-python': {
    turns: [['weather-agent', '', '']],
    // No details with chat completions.
    tokens: { ...tokens, cached: 0, reasoning: 0 },
  },
  // Session and user stand on the agent alone.
  'openinference-agno': { tokens: { ...tokens, reasoning: 0 } },
  'openinference-crewai': {
    // The agent's own input is the agent.
    turns: [['weather-agent', '', ANSWER]],
    calls: [
      [TASK, CALL],
      [TASK, ANSWER],
    ],
  },
  'openinference-dspy': {
    turns: [['ReAct.forward', QUESTION, ANSWER]],
    // DSPy writes fields, tools among them, into the texts.
    calls: [
      [/^\[\[ ## question ## \]\]\nWhat is the weather in Paris\?\n/, /\[\[ ## next_tool_name ## \]\]\nget_weather\n/],
      [/^\[\[ ## question ## \]\]\nWhat is the weather in Paris\?\n/, /\[\[ ## next_tool_name ## \]\]\nfinish\n/],
      [/^\[\[ ## question ## \]\]\nWhat is the weather in Paris\?\n/, /\[\[ ## answer ## \]\]\nIt is 18 °C/],
    ],
    tools: [
      ['get_weather', ARGS, WEATHER],
      ['finish', '{}', 'Completed.'],
    ],
    tokens: { input: 0, output: 0, cached: 0, reasoning: 0 },
    uncounted: true,
  },
  'openinference-langgraph': {
    // A tool's only argument comes bare.
    tools: [['get_weather', 'Paris', WEATHER]],
  },
  'openinference-langgraph-history': {
    tools: [['get_weather', 'Paris', 'The station does not answer']],
  },
  'openinference-llama-index': {
    // The workflow itself is asked in the state of Python objects, and answers in one.
    turns: [['FunctionAgent.run', '', '']],
  },
  'openinference-smolagents': {
    turns: [['weather_agent.run', QUESTION, ANSWER]],
    calls: [
      [`New task:\n${QUESTION}`, CALL],
      [`New task:\n${QUESTION}`, `[tool_call final_answer({"answer":"${ANSWER}"})]`],
    ],
    // It answers by a tool.
    tools: [
      ['get_weather', ARGS, WEATHER],
      ['final_answer', JSON.stringify({ answer: ANSWER }), ANSWER],
    ],
    tokens: { ...tokens, cached: 0, reasoning: 0 },
  },
  'openlit-crewai': {
    turns: [
      // The application's own span.
      ['weather-chat', '', ''],
      ['weather-agent', QUESTION, ANSWER],
    ],
    calls: [
      [TASK, CALL],
      [TASK, ANSWER],
    ],
    // It does not see the tools of this version of CrewAI.
    tools: [],
    tokens: { ...tokens, reasoning: 0 },
  },
  'opentelemetry-openai': {},
  // The messages are logs, which no trace holds.
  'opentelemetry-openai-legacy': { calls: silent, tokens: { ...tokens, cached: 0, reasoning: 0 } },
  'pydantic-ai': {},
  'semantic-kernel': {
    // The messages are logs; the outer span is the application's.
    turns: [
      ['handle request', '', ''],
      ['weather-agent', '', ANSWER],
    ],
    calls: silent,
    tools: [['Weather-get_weather', ARGS, WEATHER]],
    tokens: { ...tokens, cached: 0, reasoning: 0 },
  },
  strands: {
    turns: [['weather-agent', QUESTION, `${ANSWER}\n`]],
    tokens: { ...tokens, reasoning: 0 },
  },
  'traceloop-python': {
    turns: [['weather-chat', QUESTION, ANSWER]],
  },
}

/** Every recording. */
export const cases: Readonly<Record<string, Case>> = { ...node, ...python }
