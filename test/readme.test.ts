// The README says what the code does: its settings are the declared ones, its scripts exist, its links lead somewhere.
import { access, readFile } from 'node:fs/promises'
import t from 'tap'
import { settingsTable } from '#test/settings-table.ts'

const root = new URL('../', import.meta.url)
const readme = await readFile(new URL('README.md', root), 'utf8')

t.test('every setting of every part is listed with its default, and no other', async t => {
  const listed = /<!-- settings -->\n([\s\S]*?)\n<!-- \/settings -->/.exec(readme)?.[1]
  t.equal(listed?.trim(), settingsTable())
})

t.test('the scripts that the README names exist', async t => {
  const { scripts } = JSON.parse(await readFile(new URL('package.json', root), 'utf8')) as { scripts: object }
  const named = [...readme.matchAll(/npm (?:run )?(start|test|demo|bench|check|migrate)\b/g)].map(
    match => match[1] as string,
  )
  t.ok(named.length > 2)
  for (const name of new Set(named)) t.ok(name in scripts, name)
})

t.test('links between documents lead to files', async t => {
  for (const name of [
    'README.md',
    'ARCHITECTURE.md',
    'CONTRIBUTING.md',
    'docs/decisions/README.md',
    'bench/README.md',
  ]) {
    const text = await readFile(new URL(name, root), 'utf8')
    for (const [, target] of text.matchAll(/\]\((?!https?:)([^)#]+)\)/g)) {
      await t.resolves(access(new URL(target as string, new URL(name, root))), `${name} -> ${target}`)
    }
  }
})
