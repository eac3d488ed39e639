// parley explain FILE: what parley makes of a trace export, and why. Needs no running instance.
import { readFile } from 'node:fs/promises'
import { parseArgs } from 'node:util'
import { gunzipSync } from 'node:zlib'
import { loadPrices } from '#pricing/list.ts'
import {
  contextOf,
  type ExplainedEvent,
  type ExplainedField,
  explainExport,
  maskAlso,
} from '#processors/parsers/explain.ts'
import { isUuid, NIL_UUID } from '#proto/ids.ts'
import { isObject, readJsonText } from '#proto/json.ts'
import { type RuleDraft, ruleFields } from '#proto/rules.ts'
import { readSettings } from '#runtime/settings.ts'
import { cliSettings } from './config.ts'
import { EXPLAIN_USAGE, UsageError } from './usage.ts'

/** Runs the command; returns the exit code. */
export async function explain(args: readonly string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      span: { type: 'string' },
      org: { type: 'string' },
      rules: { type: 'string' },
      all: { type: 'boolean' },
      json: { type: 'boolean' },
    },
  })
  const [file] = positionals
  if (file === undefined || positionals.length > 1) throw new UsageError(EXPLAIN_USAGE)
  if (values.org !== undefined && !isUuid(values.org)) throw new UsageError('--org must be a uuid')
  const { prices, secretKeys } = readSettings({ ...process.env }, cliSettings)
  maskAlso(secretKeys)
  const { list } = await loadPrices(prices)
  const rules = values.rules === undefined ? [] : await readRules(values.rules)
  const where = { organization: values.org ?? NIL_UUID, receivedAtMs: Date.now(), mintedId: NIL_UUID }
  const spans = explained(await readBody(file), contextOf(where, { list, prices: [], rules }))
  const shown = spans.filter(({ span }) => values.span === undefined || span?.spanId === values.span.toLowerCase())
  if (shown.length === 0) throw new UsageError(spans.length === 0 ? 'the export holds no spans' : 'no such span')
  if (values.json) console.log(JSON.stringify(shown, null, 2))
  else console.log(shown.map(span => readable(span, values.all ?? false)).join('\n\n'))
  return 0
}

function explained(body: Buffer, context: Parameters<typeof explainExport>[2]): ExplainedEvent[] {
  // Neither encoding can begin as the other: a protobuf export begins with the tag of its first field.
  const content = /^\s*\{/.test(body.subarray(0, 64).toString('latin1')) ? 'json' : 'protobuf'
  try {
    return explainExport(body, content, context)
  } catch (cause) {
    throw new UsageError(`no OTLP export that can be read as ${content}: ${(cause as Error).message}`, { cause })
  }
}

async function readBody(file: string): Promise<Buffer> {
  const bytes = await readBytes(file)
  return bytes[0] === 0x1f && bytes[1] === 0x8b ? gunzipSync(bytes) : bytes
}

async function readBytes(file: string): Promise<Buffer> {
  try {
    return await readFile(file === '-' ? '/dev/stdin' : file)
  } catch (cause) {
    throw new UsageError(`${file} cannot be read`, { cause })
  }
}

async function readRules(file: string): Promise<RuleDraft[]> {
  const list = readJsonText((await readBytes(file)).toString())
  const wrong = (): UsageError =>
    new UsageError(`${file} must hold [{"attribute": "...", "field": "..."}]; fields: ${ruleFields.join(', ')}`)
  if (!Array.isArray(list)) throw wrong()
  return list.map((rule: unknown) => {
    const { attribute, field } = isObject(rule) ? rule : {}
    const known = ruleFields.find(name => name === field)
    if (typeof attribute !== 'string' || known === undefined) throw wrong()
    return { attribute, field: known }
  })
}

function readable({ span, eventId, dialects, fields, attributes }: ExplainedEvent, all: boolean): string {
  const shown = fields.filter(field => all || field.value !== '' || field.ignored.length > 0)
  const empty = fields.filter(field => !shown.includes(field)).map(field => field.field)
  return [
    `span ${span?.spanId} "${span?.spanName}" of trace ${span?.traceId}`,
    `event ${eventId}; dialects: ${dialects.join(', ') || 'none'}`,
    ...shown.map(field => lineOf(field, all)),
    ...(empty.length > 0 ? [`  empty: ${empty.join(', ')} (--all says where they were looked for)`] : []),
    ...attributes.map(({ attribute, became }) => `  - ${attribute} -> ${became}`),
  ].join('\n')
}

function lineOf({ field, value, from, because, ignored, looked }: ExplainedField, all: boolean): string {
  const why = from === null ? because : `${from.attribute} (${from.dialect})`
  const lines = [
    `  ${field.padEnd(18)} ${value === '' ? '(empty)' : oneLine(value)}${why === '' ? '' : `   <- ${why}`}`,
  ]
  for (const place of ignored) lines.push(`      not ${place.attribute} (${place.dialect}): ${place.why}`)
  if (all && looked.length > 0) lines.push(`      looked for in ${looked.map(place => place.attribute).join(', ')}`)
  return lines.join('\n')
}

const oneLine = (text: string): string => text.replaceAll(/\s*\n\s*/g, ' ⏎ ')
