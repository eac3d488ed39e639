// The text of `EXPLAIN QUERY TREE` -> nodes. Indentation says what belongs to what; a node has an id, a label between nodes has none.

/** A node or a label of the tree. */
export interface TreeNode {
  /** FUNCTION, TABLE …, or the words of a label. */
  readonly kind: string
  readonly id: number | undefined
  /** What stands behind the id, as far as it names something. */
  readonly fields: Readonly<Partial<Record<Field, string>>>
  readonly children: TreeNode[]
}

type Field = 'identifier' | 'function_name' | 'table_function_name' | 'cte_name' | 'matcher_type' | 'constant_value'

const NODE = /^([A-Z_ ]+) id: (\d+)(.*)$/
const FIELD = /, (identifier|function_name|table_function_name|cte_name|matcher_type): ([^,]*)/g
/** A constant's value may hold anything. */
const VALUE = /, constant_value: (.*), constant_value_type: /

/** Reads the lines of an explanation; a line that is more than one (a name with a line break) becomes several, all of which count. */
export function parseTree(lines: readonly string[]): TreeNode {
  const root: TreeNode = { kind: 'ROOT', id: undefined, fields: {}, children: [] }
  const open: { depth: number; node: TreeNode }[] = [{ depth: -1, node: root }]
  for (const line of lines.flatMap(text => text.split('\n'))) {
    const text = line.trim()
    if (text === '') continue
    const depth = line.length - line.trimStart().length
    const [, kind, id, rest = ''] = NODE.exec(text) ?? []
    const node: TreeNode = {
      kind: kind ?? text,
      id: id === undefined ? undefined : Number(id),
      fields: kind === undefined ? {} : fieldsOf(kind, rest),
      children: [],
    }
    while ((open.at(-1) as { depth: number }).depth >= depth) open.pop()
    ;(open.at(-1) as { node: TreeNode }).node.children.push(node)
    open.push({ depth, node })
  }
  return root
}

function fieldsOf(kind: string, rest: string): TreeNode['fields'] {
  if (kind === 'CONSTANT') return { constant_value: VALUE.exec(rest)?.[1] ?? '' }
  return Object.fromEntries([...rest.matchAll(FIELD)].map(match => [match[1], match[2]]))
}

/** Every node with the one it stands under. */
export function* walk(node: TreeNode, parent?: TreeNode): Generator<{ node: TreeNode; parent: TreeNode | undefined }> {
  yield { node, parent }
  for (const child of node.children) yield* walk(child, node)
}
