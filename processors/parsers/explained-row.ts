// The fields of an event as its row holds them, by the names under which they are explained.
import { Present } from '#proto/rows.ts'

/** The columns that are explained; integers may be text, as the store answers them. */
export interface ExplainableRow {
  readonly event_id: string
  readonly conversation_id: string
  readonly session_id: string
  readonly kind: string
  readonly name: string
  readonly user_id: string
  readonly model: string
  readonly provider: string
  readonly input_tokens: number | string
  readonly output_tokens: number | string
  readonly cache_read_tokens: number | string
  readonly cache_write_tokens: number | string
  readonly reasoning_tokens: number | string
  readonly cost_nanos: number | string
  readonly present: number
  readonly input_preview: string
  readonly output_preview: string
  readonly failed: 0 | 1
  readonly error_type: string
  readonly error_message: string
  readonly metadata: Readonly<Record<string, string>>
}

const VALUE_UNITS = 200

/** A value as explanations show it. */
export function cut(text: string): string {
  return text.length <= VALUE_UNITS ? text : `${text.slice(0, VALUE_UNITS).toWellFormed()}…`
}

/** Every field as text; '' = empty. */
export function fieldsOfRow(row: ExplainableRow): Readonly<Record<string, string>> {
  const counted = (bit: number, count: number | string): string => ((row.present & bit) === 0 ? '' : String(count))
  return {
    kind: row.kind,
    name: cut(row.name),
    session_id: cut(row.session_id || row.conversation_id),
    user_id: cut(row.user_id),
    model: cut(row.model),
    provider: cut(row.provider),
    input_tokens: counted(Present.inputTokens, row.input_tokens),
    output_tokens: counted(Present.outputTokens, row.output_tokens),
    cache_read_tokens: counted(Present.cacheReadTokens, row.cache_read_tokens),
    cache_write_tokens: counted(Present.cacheWriteTokens, row.cache_write_tokens),
    reasoning_tokens: counted(Present.reasoningTokens, row.reasoning_tokens),
    cost: counted(Present.cost, Number(row.cost_nanos) / 1e9),
    input: cut(row.input_preview),
    output: cut(row.output_preview),
    failed: row.failed === 1 ? 'true' : 'false',
    error_type: cut(row.error_type),
    error_message: cut(row.error_message),
  }
}
