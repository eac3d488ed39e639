// Dependencies of many small files, each made into one for `npm test`: a query node starts from 500 modules instead of 1,500, in half of
// the CPU. Bundled once a lock of the dependencies; where that fails they are loaded as they are.
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'

const ROOT = join(import.meta.dirname, '..')
const ESBUILD = join(ROOT, 'node_modules', '.bin', 'esbuild')

/**
 * What is bundled: packages that look for no file of their own while they run, and that no other package of ours shares objects with.
 * They share their own parts with each other, as they do unbundled.
 */
const BUNDLED = [
  ...['typebox', 'typebox/compile', '@clickhouse/client', 'jose', 'prom-client', 'fastify'],
  ...['@nats-io/jetstream', '@nats-io/kv', '@nats-io/transport-node'],
]

/**
 * Bundled by itself into a folder of this name: by it tap knows frames of its own in a stack, which are not shown. Every file starts with
 * its 260 modules.
 */
const TAP_FOLDER = 'node_modules/@tapjs'

/** What tap follows errors with costs more than it tells here. */
const DOMAIN = `--alias:async-hook-domain=${join(import.meta.dirname, 'domain.ts')}`

/** Asked for by tap, for printing elements of React, which there are none of; it brings React along. */
const UNUSED = 'node_modules/react-element-to-jsx-string'

/** Modules from CommonJS ask for parts of Node in their own way. */
const BANNER = `import { createRequire as makeRequire } from 'node:module'; const require = makeRequire(import.meta.url);`

/** Names stay what they are, for messages that name classes and functions. */
const FORM = [
  ...['--bundle', '--splitting', '--format=esm', '--platform=node', '--out-extension:.js=.mjs', '--keep-names'],
  ...[`--target=node${process.versions.node}`, `--banner:js=${BANNER}`, '--log-level=error'],
]

/** Makes the bundles unless they are there. Returns the folder that the preloaded file knows (see stripped.mjs). */
export async function bundleDependencies(): Promise<string> {
  const hash = createHash('sha256')
  for (const file of ['package-lock.json', 'package.json', 'test/bundle.ts', 'test/domain.ts'])
    hash.update(await readFile(join(ROOT, file)))
  const folder = join(ROOT, '.tap', `bundled-${hash.digest('hex').slice(0, 12)}`)
  if (existsSync(folder)) return folder
  const unfinished = `${folder}.${process.pid}`
  try {
    await bundleInto(unfinished)
    // Whole or not at all; who was faster has made the same.
    await rename(unfinished, folder).catch(() => {})
  } finally {
    await rm(unfinished, { recursive: true, force: true })
  }
  return folder
}

async function bundleInto(folder: string): Promise<void> {
  const entries = join(folder, 'entries')
  await mkdir(entries, { recursive: true })
  const entryOf = async (name: string): Promise<[string, string]> => {
    const file = name.replaceAll('/', '+')
    await writeFile(join(entries, `${file}.mjs`), await entryText(name))
    return [name, file]
  }
  const names = await Promise.all(BUNDLED.map(entryOf))
  const files = names.map(([, file]) => join(entries, `${file}.mjs`))
  const tap = join(entries, 'tap.mjs')
  // Not imported here: it begins a test where it is.
  await writeFile(tap, "export * from 'tap'\nexport { default } from 'tap'\n")
  await promisify(execFile)(ESBUILD, [...files, `--outdir=${folder}`, ...FORM])
  await promisify(execFile)(ESBUILD, [tap, `--outdir=${join(folder, TAP_FOLDER)}`, DOMAIN, ...FORM])
  await mkdir(join(folder, UNUSED))
  await writeFile(join(folder, UNUSED, 'index.js'), 'exports.default = String\n')
  const found = Object.fromEntries([
    ...names.map(([name, file]) => [name, `${file}.mjs`]),
    ['tap', `${TAP_FOLDER}/tap.mjs`],
  ])
  await writeFile(join(folder, 'bundled.json'), JSON.stringify(found))
}

/** A module that exports what Node finds in the package, under the same names. */
async function entryText(name: string): Promise<string> {
  const module = (await import(name)) as Readonly<Record<string, unknown>>
  const names = Object.keys(module).filter(key => key !== 'default' && key !== 'module.exports')
  const from = JSON.stringify(name)
  const whole = 'default' in module ? `export { default } from ${from}\n` : ''
  return `${whole}export { ${names.join(', ')} } from ${from}\n`
}
