// Events of a conversation -> a forest: every span once, parents before children, siblings by start. Orphans become roots and cycles
// are cut, so that whoever follows parents always ends.

/** What the tree is made of. */
export interface TreeNode {
  readonly event_id: string
  readonly parent_id: string
}

/** A node in its place. `parent` is null for roots, whatever parent was sent. */
export interface Placed<T extends TreeNode> {
  readonly node: T
  readonly parent: T | null
  readonly depth: number
}

/**
 * Places nodes given in order of start. A parent that is not among them, or is the node itself, makes a root; in a cycle the earliest
 * node becomes the root.
 */
export function placeSpans<T extends TreeNode>(nodes: readonly T[]): Placed<T>[] {
  const byId = new Map(nodes.map(node => [node.event_id, node]))
  const cut = cycleStarts(nodes, byId)
  const children = new Map<T | null, T[]>()
  for (const node of nodes) {
    const parent = cut.has(node) ? null : (byId.get(node.parent_id) ?? null)
    const siblings = children.get(parent)
    if (siblings) siblings.push(node)
    else children.set(parent, [node])
  }
  const placed: Placed<T>[] = []
  // A stack of its own: a chain of thousands of spans would overflow the call stack.
  const stack: Placed<T>[] = []
  const push = (parent: T | null, depth: number): void => {
    const below = children.get(parent) ?? []
    for (let i = below.length - 1; i >= 0; i--) stack.push({ node: below[i] as T, parent, depth })
  }
  push(null, 0)
  for (let top = stack.pop(); top !== undefined; top = stack.pop()) {
    placed.push(top)
    push(top.node, top.depth + 1)
  }
  return placed
}

/** Nodes in order of start, of which those that start at once stand parents first. */
export function parentsFirst<T extends TreeNode & { readonly ts: string }>(nodes: readonly T[]): T[] {
  return [...Map.groupBy(nodes, node => node.ts).values()].flatMap(together =>
    together.length === 1 ? together : placeSpans(together).map(({ node }) => node),
  )
}

/** The earliest node of every cycle. */
function cycleStarts<T extends TreeNode>(nodes: readonly T[], byId: ReadonlyMap<string, T>): Set<T> {
  const position = new Map(nodes.map((node, i) => [node, i]))
  const starts = new Set<T>()
  // The walk that reached a node first: meeting a node of the same walk again closes a cycle.
  const walkOf = new Map<T, number>()
  nodes.forEach((start, walk) => {
    let node: T | undefined = start
    while (node !== undefined && !walkOf.has(node)) {
      walkOf.set(node, walk)
      node = byId.get(node.parent_id)
    }
    if (node === undefined || walkOf.get(node) !== walk) return
    const meeting = node
    let earliest = meeting
    for (let at = byId.get(meeting.parent_id); at !== undefined && at !== meeting; at = byId.get(at.parent_id)) {
      if ((position.get(at) as number) < (position.get(earliest) as number)) earliest = at
    }
    starts.add(earliest)
  })
  return starts
}

/** An event with its ancestors and descendants, in the order given; empty when the event is not there. */
export function around<T extends TreeNode>(placed: readonly Placed<T>[], event: string): Placed<T>[] {
  const byId = new Map(placed.map(place => [place.node.event_id, place]))
  const kept = new Set<T>()
  for (let at = byId.get(event); at !== undefined; at = at.parent ? byId.get(at.parent.event_id) : undefined) {
    kept.add(at.node)
  }
  const below = new Set<T>()
  // Parents stand before their children, so one pass finds all descendants.
  for (const { node, parent } of placed) {
    if (node.event_id === event || (parent !== null && below.has(parent))) below.add(node)
  }
  return placed.filter(({ node }) => kept.has(node) || below.has(node))
}
