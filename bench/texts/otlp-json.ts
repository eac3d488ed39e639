// Events of a world -> SQL for how many bytes they are as exports of spans in JSON: the least that a sender writes for them.
const attribute = (key: string, value: string): string =>
  `length('{"key":"${key}","value":{"stringValue":},') + length(toJSONString(${value}))`
const number = (key: string, value: string): string =>
  `length('{"key":"${key}","value":{"intValue":""}},') + length(toString(${value}))`
const when = (condition: string, sum: string): string => `if(${condition}, ${sum}, 0)`
const bytes = (text: string): string => `length('${text}')`

/** What resource and scope are to the spans of a turn, which are sent together. */
const AROUND = `{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"service-1"}}]},"scopeSpans":[{"scope":{"name":"shop-tracer","version":"1.2.3"},"spans":[]}]}]}`

const SPAN = [
  bytes('{"traceId":"00000000000000000000000000000000","spanId":"0000000000000000","kind":1,'),
  bytes('"startTimeUnixNano":"1234567890123456789","endTimeUnixNano":"1234567890123456789",'),
  bytes('"attributes":[],"status":{}},'),
  when('pos % 4 > 0', bytes('"parentSpanId":"0000000000000000",')),
  `${bytes('"name":,')} + length(toJSONString(concat(kind, name)))`,
  attribute('gen_ai.conversation.id', "concat('chat-', toString(conv))"),
  attribute('gen_ai.operation.name', "multiIf(kind = 'agent', 'invoke_agent', kind = 'llm', 'chat', 'execute_tool')"),
  attribute('gen_ai.agent.name', 'name'),
  when("user != ''", attribute('user.id', 'user')),
  when("kind = 'llm'", attribute('gen_ai.provider.name', "'openai'")),
  when("kind = 'llm'", number('gen_ai.usage.input_tokens', 'input_tokens')),
  when("kind = 'llm'", number('gen_ai.usage.output_tokens', 'output_tokens')),
  when('failed', attribute('error.type', 'error_type')),
  when("input != ''", attribute('gen_ai.input.messages', 'input')),
  when("output != ''", attribute('gen_ai.output.messages', 'output')),
  `arraySum(arrayMap(k -> if(match(k, '^(parley|resource|otel|gen_ai|error)'), 0,
    length('{"key":,"value":{"stringValue":}},') + length(toJSONString(k)) + length(toJSONString(metadata[k]))), mapKeys(metadata)))`,
]

/** SQL for the bytes of all rows of `events`, an `eventsSql`. */
export const exportedBytesSql = (events: string): string => `
  SELECT sum(${SPAN.map(sum => `(${sum})`).join(' + ')}) + countIf(pos % 4 = 0) * ${bytes(AROUND)} AS bytes, count() AS events,
    sum(length(input) + length(output)) AS texts
  FROM (${events})`
