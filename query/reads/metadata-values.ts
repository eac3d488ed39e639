// What a value of metadata says, wherever it is asked for: groups, filters and what is kept in memory of both. A text says itself; a text
// that is an array in JSON says each of its members.

const isArray = (raw: string): string => `startsWith(${raw}, '[') AND JSONType(${raw}) = 'Array'`

const membersOf = (raw: string): string =>
  `arrayDistinct(arrayMap(x -> if(JSONType(x) = 'String', JSONExtractString(x), x), JSONExtractArrayRaw(${raw})))`

/** Groups of what says it, as an array. */
export const groupValues = (raw: string): string => `if(${isArray(raw)}, ${membersOf(raw)}, [${raw}])`

/** Whether it says one of some values. An array is met by the whole of its text, too: it is what lists of events show. */
export const saysOneOfSql = (raw: string, values: string): string =>
  `(${raw} IN ${values} OR (${isArray(raw)} AND hasAny(${membersOf(raw)}, ${values})))`

/** What is kept in memory of it: see `keptSaysOneOf`. */
export const keptValueSql = (raw: string): string =>
  `if(${isArray(raw)}, toJSONString(arrayPushFront(${membersOf(raw)}, ${raw})), concat('=', ${raw}))`

/** The same of what is kept: '' where the key is missing, '=' and the text, or in JSON the text of an array and its members. */
export function keptSaysOneOf(kept: string, values: ReadonlySet<string>): boolean {
  if (kept.startsWith('=')) return values.has(kept.slice(1))
  return kept !== '' && (JSON.parse(kept) as string[]).some(value => values.has(value))
}
