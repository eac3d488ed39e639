// README.md says what the code reads.
import { access, readFile } from 'node:fs/promises'
import t from 'tap'
import { liveKinds } from './kinds.ts'
import { places } from './places.ts'

const text = await readFile(new URL('README.md', import.meta.url), 'utf8')
const part = (name: string): string => text.split(`<!-- ${name} -->`)[1]?.split(`<!-- /${name} -->`)[0] ?? ''

t.test('the table has every place, in order', async t => {
  const rows = Object.entries(places).map(([of, paths]) => `| ${of} | ${paths.map(path => `\`${path}\``).join(', ')} |`)
  t.strictSame(part('places').trim().split('\n').slice(2), rows)
})

t.test('the kinds that are ignored are listed', async t => {
  t.strictSame(part('kinds').trim().split(/,\s+/), liveKinds)
})

t.test('its links lead somewhere', async t => {
  for (const [, target] of text.matchAll(/\]\((?!https?:)([^)#]+)\)/g))
    await t.resolves(access(new URL(target as string, import.meta.url)), target as string)
})
