// What ARCHITECTURE.md promises about the shape of the code, read from the code itself: so that neither a lint mistake nor an edited
// page can hide a change.
import { readdir, readFile } from 'node:fs/promises'
import { dirname, join, normalize, relative } from 'node:path'
import t from 'tap'

const ROOT = join(import.meta.dirname, '..')

/** Folders of code and the folders each may import. Tests and fixtures may import everything. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  proto: [],
  runtime: ['proto'],
  streams: ['proto', 'runtime'],
  store: ['proto', 'runtime'],
  control: ['proto', 'runtime', 'streams'],
  pricing: ['proto'],
  ingest: ['proto', 'runtime', 'streams', 'control'],
  processors: ['proto', 'runtime', 'streams', 'store', 'control', 'pricing'],
  query: ['proto', 'runtime', 'streams', 'store', 'control', 'pricing'],
  analysis: ['proto', 'runtime', 'streams', 'store', 'control'],
  cli: ['proto', 'runtime', 'streams', 'store', 'control', 'pricing'],
}
/** Folders that put the others together, or measure them from outside. */
const OUTSIDE = ['deploy', 'demo', 'bench', 'test', 'web']
/** Single files that a folder may import beyond its row. */
const EXCEPTIONS: Readonly<Record<string, readonly string[]>> = {
  ingest: ['store/session-lookup.ts'],
  query: ['processors/parsers/explain.ts'],
  cli: ['processors/parsers/explain.ts'],
}
/** Packages that only one file may know. */
const ONLY_IN: Readonly<Record<string, string>> = {
  fastify: 'query/server.ts',
  'uWebSockets.js': 'ingest/server.ts',
  protobufjs: 'proto/scan/fuzz/protobufjs.ts',
}

/** An import of a source file: `target` is a path from the root, or the name of a package. */
interface ImportLine {
  readonly file: string
  readonly target: string
  readonly ours: boolean
}

/** Tests, what they share, the recordings that they read, and fuzzing. */
const isTestCode = (file: string): boolean => /(^|\/)fixture[^/]*\.ts$|\.test\.ts$|\/(recorded|fuzz)\//.test(file)

async function sourceFiles(folder: string): Promise<string[]> {
  const entries = await readdir(join(ROOT, folder), { recursive: true, withFileTypes: true }).catch(() => [])
  return entries
    .filter(entry => entry.isFile() && entry.name.endsWith('.ts'))
    .map(entry => relative(ROOT, join(entry.parentPath, entry.name)))
    .filter(file => !file.includes('node_modules'))
}

async function importsOf(file: string, aliases: Readonly<Record<string, string>>): Promise<ImportLine[]> {
  const text = await readFile(join(ROOT, file), 'utf8')
  const specifiers = [
    ...text.matchAll(/^(?:import|export)\b[^'";]*?from '([^']+)'|^import '([^']+)'|\bimport\('([^']+)'\)/gm),
  ]
  return specifiers.map(match => {
    const specifier = (match[1] ?? match[2] ?? match[3]) as string
    if (specifier.startsWith('.')) return { file, target: normalize(join(dirname(file), specifier)), ours: true }
    const alias = Object.keys(aliases).find(key => specifier.startsWith(key.slice(0, -1)))
    if (alias === undefined) return { file, target: specifier, ours: false }
    const folder = (aliases[alias] as string).slice(2, -1)
    return { file, target: normalize(folder + specifier.slice(alias.length - 1)), ours: true }
  })
}

/** Every import of the code that runs in a part. */
async function allImports(): Promise<ImportLine[]> {
  const manifest = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')) as { imports: Record<string, string> }
  const folders = await Promise.all(Object.keys(MAY_IMPORT).map(sourceFiles))
  const files = folders.flat().filter(file => !isTestCode(file))
  return (await Promise.all(files.map(file => importsOf(file, manifest.imports)))).flat()
}

const folderOf = (path: string): string => path.slice(0, path.indexOf('/'))

t.test('no folder imports one that it may not', async t => {
  const imports = await allImports()
  const ours = imports.filter(line => line.ours)
  t.ok(ours.length > 200, 'the import lines were found')
  const forbidden = ours.filter(({ file, target }) => {
    const [from, to] = [folderOf(file), folderOf(target)]
    return from !== to && !MAY_IMPORT[from]?.includes(to) && !EXCEPTIONS[from]?.includes(target)
  })
  t.strictSame(forbidden, [])
})

t.test('no running code imports a test or a fixture, and ours is imported with its extension', async t => {
  const ours = (await allImports()).filter(line => line.ours)
  t.strictSame(
    ours.filter(({ target }) => isTestCode(target) || !target.endsWith('.ts')),
    [],
  )
})

t.test('a package that is replaceable is known to one file', async t => {
  const imports = await allImports()
  for (const [name, only] of Object.entries(ONLY_IN)) {
    const files = new Set(imports.filter(line => line.target === name).map(line => line.file))
    files.delete(only)
    t.strictSame([...files], [], name)
  }
})

t.test('ARCHITECTURE.md has a row for every folder, with the same imports', async t => {
  const page = await readFile(join(ROOT, 'ARCHITECTURE.md'), 'utf8')
  const rows = [...page.matchAll(/^\| ([^|]+) \| [^|]+ \| ([^|]+) \|$/gm)]
  const documented = new Map(
    rows.flatMap(([, names = '', imports = '']) =>
      [...names.matchAll(/`([a-z]+)\/[a-z/]*`/g)].map(([, name = '']) => [name, imports] as const),
    ),
  )
  for (const [folder, allowed] of Object.entries(MAY_IMPORT)) {
    const words = (documented.get(folder) ?? '').split(';')[0]?.match(/\b[a-z]+\b/g) ?? []
    t.strictSame(words.filter(word => word in MAY_IMPORT).sort(), [...allowed].sort(), folder)
    t.ok(documented.has(folder), `${folder}/ has a row`)
  }
  const entries = await readdir(ROOT, { withFileTypes: true })
  const folders = entries.filter(entry => entry.isDirectory() && /^[a-z]/.test(entry.name)).map(entry => entry.name)
  const strangers = folders.filter(
    name => !(name in MAY_IMPORT) && !OUTSIDE.includes(name) && !['node_modules', 'docs'].includes(name),
  )
  t.strictSame(strangers, [], 'a folder that nobody has decided about')
})
