// Ordinary questions with something hostile in the place of one of their words: in every expression and at every table.
import { ORDINARY } from './fixture-corpus.ts'

const EXPRESSIONS = [
  "file('/etc/passwd')",
  "arrayMap(file, ['/etc/passwd'])",
  "arrayMap(x -> file(x), ['/etc/passwd'])",
  "(SELECT file('/etc/passwd'))",
  '(SELECT arrayCumSum(throwIf, [1]))',
  "arrayCumSum(file, ['/etc/passwd'])[1]",
  '(1 IN system.one)',
  "CAST('a' AS AggregateFunction(count))",
  '(SELECT count() FROM system.tables)',
  '(SELECT count() FROM numbers(3))',
  '(SELECT * APPLY(sleep) FROM (SELECT 1))',
  'sleep(1)',
  'hostName()',
  "getClientHTTPHeader('x-parley-organization')",
  "dictGet('d', 'a', 1)",
  "if(1, version(), '')",
  '[currentUser()][1]',
  '(SELECT 1 SETTINGS max_threads = 8)',
  "(SELECT name FROM mergeTreeIndex('parley', 'events') LIMIT 1)",
  "`file`(/**/ '/etc/passwd')",
  '{x:String}',
]
const TABLES = [
  'system.tables',
  'parley.events',
  'numbers(3)',
  "file('/etc/passwd', 'LineAsString')",
  "url('http://127.0.0.1:1/', 'LineAsString')",
  'view(SELECT * FROM system.processes)',
  '(SELECT * FROM system.query_log)',
  '(SELECT name FROM events UNION ALL SELECT name FROM system.tables)',
  "(SELECT COLUMNS('.*') FROM events)",
  "merge('parley', '.*')",
]
/** A column or a number outside of quotes, where an expression may stand. */
const EXPRESSION =
  /(?<![\w.'])(?:duration_ms|cost_usd|input_tokens|user_id|name|model|failed|ts|metadata|\d+(?:\.\d+)?)(?![\w.'(])/g
const TABLE = /(?<=\b(?:FROM|JOIN|from) )(?:events|conversations|texts)\b/g

/** `count` statements; every one of them has to be refused. */
export function spliced(seed: number, count: number): string[] {
  const all: (() => string)[] = []
  for (const text of ORDINARY) {
    for (const [pattern, pieces] of [
      [EXPRESSION, EXPRESSIONS],
      [TABLE, TABLES],
    ] as const) {
      for (const { index, 0: word } of text.matchAll(pattern)) {
        const [head, tail] = [text.slice(0, index), text.slice(index + word.length)]
        // A piece in a string, or in the name of a column that is defined here, would prove nothing.
        if (/ AS $/i.test(head) || head.split("'").length % 2 === 0) continue
        for (const piece of pieces) all.push(() => head + piece + tail)
      }
    }
  }
  const chosen: string[] = []
  let state = seed >>> 0
  while (chosen.length < count) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    chosen.push(all[Math.floor((state / 2 ** 32) * all.length)]?.() ?? '')
  }
  return chosen
}
