// Long query parameters -> several short ones. ClickHouse refuses a parameter of more than 128 KiB (http_max_field_value_size, which
// only a server's profile can raise), and lists of ids get longer than that.
import type { Parameter } from './client.ts'

/** Parameters by name. */
type Parameters = Readonly<Record<string, Parameter>>

/** Bytes of one piece: escaping at most doubles them, which stays below the limit. */
const PIECE_BYTES = 48 * 1024
/** What an array's element costs besides its bytes: quotes and a comma. */
const ELEMENT_BYTES = 3

/**
 * The same query with every long string or array bound in pieces: `{ids:Array(UUID)}` becomes
 * `arrayConcat({ids_piece_0:Array(UUID)}, …)`, which the server folds to a constant before it plans. Precondition: no single element
 * is longer than a piece.
 */
export function inPieces(sql: string, parameters: Parameters): { sql: string; parameters: Parameters } {
  const long = Object.entries(parameters).flatMap(([name, value]) => {
    const pieces = split(value)
    return pieces.length > 1 ? [{ name, pieces }] : []
  })
  if (long.length === 0) return { sql, parameters }
  let text = sql
  const bound: Record<string, Parameter> = { ...parameters }
  for (const { name, pieces } of long) {
    delete bound[name]
    pieces.forEach((piece, i) => {
      bound[`${name}_piece_${i}`] = piece
    })
    const join = Array.isArray(parameters[name]) ? 'arrayConcat' : 'concat'
    text = text.replaceAll(new RegExp(`\\{${name}:([^{}]+)\\}`, 'g'), (_whole, type: string) => {
      return `${join}(${pieces.map((_, i) => `{${name}_piece_${i}:${type}}`).join(', ')})`
    })
  }
  return { sql: text, parameters: bound }
}

function split(value: Parameter): Parameter[] {
  if (typeof value === 'string') return value.length * 3 <= PIECE_BYTES ? [value] : splitText(value)
  return Array.isArray(value) ? splitArray(value as readonly string[]) : [value]
}

function splitText(text: string): string[] {
  const pieces: string[] = []
  let piece = ''
  let bytes = 0
  // By code points: half a surrogate pair is no character.
  for (const character of text) {
    const size = Buffer.byteLength(character)
    if (bytes + size > PIECE_BYTES) {
      pieces.push(piece)
      piece = ''
      bytes = 0
    }
    piece += character
    bytes += size
  }
  return [...pieces, piece]
}

function splitArray<T extends string | number>(values: readonly T[]): T[][] {
  const pieces: T[][] = [[]]
  let bytes = 0
  for (const value of values) {
    const size = Buffer.byteLength(String(value)) + ELEMENT_BYTES
    if (bytes + size > PIECE_BYTES && bytes > 0) {
      pieces.push([])
      bytes = 0
    }
    pieces.at(-1)?.push(value)
    bytes += size
  }
  return pieces
}
