// Model and provider of a span.
import type { Value } from '#proto/otlp/span.ts'
import { asName } from './accept.ts'
import type { Facts } from './facts.ts'
import type { Rule } from './rules.ts'

/** The model: the one that answered before the one that was asked for. Both stay in the metadata. */
export function modelOf(facts: Facts): string {
  const found = facts.find('model', asName)
  if (found === null) return ''
  const { value, rule } = found
  return rule.dialect?.modelsWithProvider === true ? value.slice(value.indexOf('/') + 1) : value
}

/** Frameworks that name themselves where the maker of the model belongs. */
export const frameworks: ReadonlySet<string> = new Set([
  ...['langchain', 'crewai', 'strands-agents', 'autogen', 'gcp.vertex.agent', 'microsoft.agent_framework', 'vercel'],
  ...['agent_framework', 'semantic_kernel', 'llamaindex', 'haystack', 'mastra', 'gateway'],
])

/** Makers by the beginning of their models' names. */
const makers: readonly (readonly [beginning: RegExp, provider: string])[] = [
  [/^(?:gpt-|o[134](?:-|$)|chatgpt|text-embedding-)/, 'openai'],
  [/^claude-/, 'anthropic'],
  [/^gemini-/, 'gcp.gemini'],
  [/^(?:mistral-|codestral|ministral)/, 'mistral_ai'],
  [/^command-/, 'cohere'],
  [/^deepseek-/, 'deepseek'],
  [/^grok-/, 'x_ai'],
]

/** Other spellings of the conventions' names. */
const renamed: ReadonlyMap<string, string> = new Map([
  ['xai', 'x_ai'],
  ['vertex_ai', 'gcp.vertex_ai'],
  ['gemini', 'gcp.gemini'],
  ['az.ai.inference', 'azure.ai.inference'],
  ['az.ai.openai', 'azure.ai.openai'],
  ['google', 'gcp.gen_ai'],
  ['googleai', 'gcp.gemini'],
  ['vertexai', 'gcp.vertex_ai'],
  ['mistral', 'mistral_ai'],
  ['mistralai', 'mistral_ai'],
  ['amazon-bedrock', 'aws.bedrock'],
  ['amazon_bedrock', 'aws.bedrock'],
  ['bedrock', 'aws.bedrock'],
])

/** Addresses that clients of other servers write where the provider belongs. */
const address = /^\d+\.\d+\.|^localhost|^\[|^https?:/

/** Hosts of providers, which clients that know no more send. */
const host = /^(?:[\w-]+\.)+(?:com|ai|net|io|org|dev)(?::\d+)?$/

/** Makers by the registered name of their hosts, where it is not their own. */
const registrants: ReadonlyMap<string, string> = new Map([
  ['x', 'x_ai'],
  ['googleapis', 'gcp.gemini'],
  ['amazonaws', 'aws.bedrock'],
  ['azure', 'azure.ai.openai'],
])

/** Names of providers that have a dot of their own: others end before the dot, as in `openai.chat`. */
const dotted = /^(?:aws|azure|gcp|ibm|az)\./

/** The provider of the model. The attribute is used up; null from a place that names a framework instead. */
export function providerOf(facts: Facts, model: string): string {
  const found = facts.take('provider', asProvider)?.value
  if (found !== undefined) return found
  const name = model.toLowerCase()
  return makers.find(([beginning]) => beginning.test(name))?.[1] ?? ''
}

function asProvider(value: Value, rule: Rule): string | null {
  const name = asName(value, rule)?.toLowerCase() ?? null
  if (name === null || frameworks.has(name) || address.test(name)) return null
  if (host.test(name) && !dotted.test(name)) {
    const registered = name.split('.').at(-2) as string
    return registrants.get(registered) ?? renamed.get(registered) ?? registered
  }
  if (/:\d+$/.test(name)) return null
  if (rule.dialect?.modelsWithProvider === true && !name.includes('/')) return null
  const short = dotted.test(name) ? name : (name.split(/[./]/)[0] as string)
  return renamed.get(short) ?? short
}
