// Laminar's SDK.
import { type Dialect, emailNames, sessionNames, under } from '../dialect.ts'

const attached = 'lmnr.association.properties.'

export const laminar: Dialect = {
  name: 'laminar',
  source: 'lmnr-ai/lmnr app-server/src/traces/spans.rs',
  matches: { scopes: ['lmnr', '@lmnr-ai/'], keys: ['lmnr.'] },
  fields: {
    kind: ['lmnr.span.type'],
    session_id: under(attached, ['session_id', ...sessionNames]),
    user_id: under(attached, ['user_id', 'userId', 'customer_id']),
    user_email: [...under(attached, emailNames), ...under(`${attached}metadata.`, emailNames)],
    tool_input: ['lmnr.span.input'],
    tool_output: ['lmnr.span.output'],
  },
  late: { input: ['lmnr.span.input'], output: ['lmnr.span.output'] },
  types: {
    llm: ['llm'],
    tool: ['tool'],
    other: ['evaluator', 'human_evaluator', 'evaluation'],
    step: ['pipeline', 'executor'],
    span: ['default'],
  },
  repeatsUsage: true,
  carries: [`${attached}metadata.`, attached],
  wrapsTools: true,
}
