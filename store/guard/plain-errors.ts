// What the engine says of a statement -> a sentence of our own. Its texts carry values: of rows, of constants that it has folded, of
// files. Its name of the error says what kind it is, and its place where in the statement.
import type { ClickHouseError } from '@clickhouse/client'

const SENTENCES: Readonly<Record<string, string>> = {
  SYNTAX_ERROR: 'the statement cannot be parsed',
  UNKNOWN_IDENTIFIER: 'there is no column of that name',
  UNKNOWN_TABLE: 'there is no view of that name',
  UNKNOWN_FUNCTION: 'there is no such function',
  AMBIGUOUS_IDENTIFIER: 'a name stands for more than one column',
  NOT_AN_AGGREGATE: 'a column stands neither in GROUP BY nor in an aggregate function',
  ILLEGAL_AGGREGATION: 'an aggregate function stands where none may stand',
  NUMBER_OF_ARGUMENTS_DOESNT_MATCH: 'a function has too few or too many arguments',
  TOO_FEW_ARGUMENTS_FOR_FUNCTION: 'a function has too few arguments',
  TOO_MANY_ARGUMENTS_FOR_FUNCTION: 'a function has too many arguments',
  ILLEGAL_TYPE_OF_ARGUMENT: 'an argument of a function has a type that it does not take',
  ILLEGAL_DIVISION: 'something is divided by zero',
  NO_COMMON_TYPE: 'values that belong together have types that do not',
  TYPE_MISMATCH: 'two sides have different types',
  CANNOT_PARSE_TEXT: 'a text cannot be read as what it is made into',
  CANNOT_PARSE_NUMBER: 'a text cannot be read as a number',
  CANNOT_PARSE_DATETIME: 'a text cannot be read as a time',
  CANNOT_CONVERT_TYPE: 'a value cannot be made into another type',
  INVALID_WITH_FILL_EXPRESSION: 'FROM, TO or STEP of WITH FILL does not suit its column',
  TIMEOUT_EXCEEDED: 'it takes too long',
  MEMORY_LIMIT_EXCEEDED: 'it takes too much memory',
  TOO_MANY_ROWS: 'it reads too many rows',
  TOO_MANY_BYTES: 'it reads too many bytes',
  TOO_BIG_AST: 'it is too large',
  TOO_DEEP_AST: 'it is nested too deep',
  TOO_DEEP_SUBQUERIES: 'its subqueries are nested too deep',
  TOO_DEEP_RECURSION: 'it is nested too deep',
  TOO_MANY_SIMULTANEOUS_QUERIES: 'the store runs as many as it may',
}

/** The kind of the error by the engine's name for it, and a sentence; with the name that is unknown, where the statement has it. */
export function saidPlainly(error: ClickHouseError, statement: string): string {
  const kind = error.type !== undefined && /^[A-Z_]+$/.test(error.type) ? error.type : `code ${error.code}`
  const said = `${kind}: ${SENTENCES[kind] ?? 'the store cannot do what the statement says'}`
  const name = kind.startsWith('UNKNOWN_') ? /[`']([\w .:@-]{1,64})[`']/.exec(error.message)?.[1] : undefined
  return name !== undefined && statement.includes(name) ? `${said}: ${name}` : said
}

/** Where the parser stopped, in characters of what it was given; null for other errors. */
export function syntaxPosition(error: ClickHouseError, statement: string): number | null {
  const at = error.type === 'SYNTAX_ERROR' ? /failed at position (\d+)/.exec(error.message)?.[1] : undefined
  return at === undefined
    ? null
    : Buffer.from(statement)
        .subarray(0, Number(at) - 1)
        .toString().length
}
