// The README says what the code does: its settings are the declared ones, its scripts exist, its links lead somewhere.
import { access, readdir, readFile } from 'node:fs/promises'
import t from 'tap'
import { WALLED_TABLES } from '#store/wall/tables.ts'
import { declaredOtherwise, settingsTable } from '#test/settings-table.ts'
import * as usages from '../cli/usage.ts'

const root = new URL('../', import.meta.url)
const readme = await readFile(new URL('README.md', root), 'utf8')
const pages = (await readdir(new URL('docs/', root))).filter(name => name.endsWith('.md')).map(name => `docs/${name}`)
const FURTHER = [
  'README.md',
  'ARCHITECTURE.md',
  'CONTRIBUTING.md',
  'docs/decisions/README.md',
  'bench/README.md',
  'deploy/cluster/README.md',
]
const documents = await Promise.all(
  [...FURTHER, ...pages].map(async name => [name, await readFile(new URL(name, root), 'utf8')] as const),
)
/** Variables of `npm run check` and of tests, which no part reads. */
const OF_CHECKS = ['PARLEY_AUDIT', 'PARLEY_TEST_SCALE']

t.test('every setting of every part is listed with its default, and no other', async t => {
  const listed = /<!-- settings -->\n([\s\S]*?)\n<!-- \/settings -->/.exec(readme)?.[1]
  t.equal(listed?.trim(), settingsTable())
})

t.test('a variable that several parts read means the same to each', t => {
  t.strictSame(declaredOtherwise(), [])
  t.end()
})

t.test('the scripts that the README names exist', async t => {
  const { scripts } = JSON.parse(await readFile(new URL('package.json', root), 'utf8')) as { scripts: object }
  const named = [...readme.matchAll(/npm (?:run )?(start|test|demo|bench|check|migrate)\b/g)].map(
    match => match[1] as string,
  )
  t.ok(named.length > 2)
  for (const name of new Set(named)) t.ok(name in scripts, name)
})

t.test('links between documents lead to files, and to headings in them', async t => {
  for (const [name, text] of documents) {
    for (const [, path = '', heading] of text.matchAll(/\]\((?!https?:)([^)#]*)(?:#([^)]+))?\)/g)) {
      const target = new URL(path === '' ? name : path, new URL(path === '' ? './' : name, root))
      await t.resolves(access(target), `${name} -> ${path}`)
      if (heading === undefined) continue
      const headings = [...(await readFile(target, 'utf8')).matchAll(/^#+ (.+)$/gm)].map(([, words = '']) =>
        slugOf(words),
      )
      t.ok(headings.includes(heading), `${name} -> ${path}#${heading}`)
    }
  }
})

t.test('what documents name is there: settings, metrics, commands', async t => {
  const metrics = namesIn(await readFile(new URL('docs/metrics.md', root), 'utf8'), /^\| `(\w+)` \|/gm)
  const settings = [...namesIn(settingsTable(), /^\| `(\w+)` \|/gm), ...OF_CHECKS]
  const usage = Object.values(usages).filter(each => typeof each === 'string')
  const commands = namesIn(usage.join('\n'), /^parley (\w+)/gm)
  for (const [name, text] of documents) {
    const f = (pattern: RegExp, known: readonly string[]): void => {
      for (const named of namesIn(text, pattern)) t.ok(known.includes(named), `${name} names ${named}`)
    }
    f(/`(PARLEY_[A-Z_]+)[`=]/g, settings)
    f(/`(parley_[a-z_]+_(?:total|seconds|bytes|differences|walled))\b/g, metrics)
    f(/\.\/parley (\w+)/g, commands)
  }
})

t.test('the wall is told of every table that it stands around', async t => {
  const wall = await readFile(new URL('docs/wall.md', root), 'utf8')
  t.ok(wall.includes(`| reader (\`PARLEY_READER_URL\`) | ${WALLED_TABLES.map(name => `\`${name}\``).join(', ')} |`))
})

/** As pages of GitHub name a heading. */
function slugOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\w -]/g, '')
    .replaceAll(' ', '-')
}

function namesIn(text: string, pattern: RegExp): string[] {
  return [...text.matchAll(pattern)].map(([, name = '']) => name)
}
