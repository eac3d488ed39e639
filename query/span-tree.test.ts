import t from 'tap'
import { around, parentsFirst, placeSpans } from './span-tree.ts'

/** `a<b` = a with the parent b; nodes stand in the order of their start. */
function nodes(text: string) {
  return text.split(' ').map(word => {
    const [event_id = '', parent_id = ''] = word.split('<')
    return { event_id, parent_id }
  })
}

/** Placed nodes as `name.depth`, parents before children. */
const shown = (text: string): string =>
  placeSpans(nodes(text))
    .map(({ node, depth }) => `${node.event_id}.${depth}`)
    .join(' ')

t.test('parents stand before their children, siblings by start', async t => {
  const f = (text: string, expected: string) => t.equal(shown(text), expected, text)
  f('a b<a c<a d<b', 'a.0 b.1 d.2 c.1')
  f('child<root root', 'root.0 child.1')
  f('a b', 'a.0 b.0')
})

t.test('of those that start at once, parents stand first', async t => {
  const f = (text: string, expected: string) => {
    const timed = nodes(text).map(node => ({ ...node, ts: node.event_id.slice(0, 1) }))
    t.equal(
      parentsFirst(timed)
        .map(node => node.event_id)
        .join(' '),
      expected,
      text,
    )
  }
  f('1c<1a 1b 1a 2a<1b', '1b 1a 1c 2a')
  f('1a<2a 2a', '1a 2a')
  f('1a<1b 1b<1a', '1a 1b')
})

t.test('orphans and spans that are their own parents become roots', async t => {
  t.equal(shown('a<gone b<a c<c'), 'a.0 b.1 c.0')
})

t.test('every cycle is cut once, at its earliest span', async t => {
  const f = (text: string, expected: string) => t.equal(shown(text), expected, text)
  f('a<b b<a', 'a.0 b.1')
  f('x<b a<c b<a c<b', 'a.0 b.1 x.2 c.2')
  f('t<b b<a a<b', 'b.0 t.1 a.1')
  f('a<b b<a c<d d<c', 'a.0 b.1 c.0 d.1')
})

t.test('a chain of thousands of spans needs no deep stack', async t => {
  const chain = Array.from({ length: 20_000 }, (_, i) => ({ event_id: String(i), parent_id: String(i - 1) }))
  const placed = placeSpans(chain)
  t.equal(placed.length, chain.length)
  t.equal(placed.at(-1)?.depth, 19_999)
  const loop = placeSpans(chain.map(node => ({ ...node, parent_id: node.event_id === '0' ? '19999' : node.parent_id })))
  t.equal(loop.length, chain.length)
  t.equal(loop[0]?.node.event_id, '0')
})

t.test('around an event: its ancestors, itself, its descendants', async t => {
  const placed = placeSpans(nodes('a b<a c<b d<a e<c f'))
  const f = (event: string, expected: string) =>
    t.equal(
      around(placed, event)
        .map(({ node }) => node.event_id)
        .join(''),
      expected,
    )
  f('c', 'abce')
  f('a', 'abced')
  f('f', 'f')
  f('unknown', '')
})
