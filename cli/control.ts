// parley control export|import: organizations, people, keys and settings as JSON lines.
import { readFile, writeFile } from 'node:fs/promises'
import { text as textOf } from 'node:stream/consumers'
import { parseArgs } from 'node:util'
import { exportControl, importControl, readControlLines } from '#control/copy.ts'
import { openBuckets } from '#streams/apply.ts'
import { openNats } from './instance.ts'
import { CONTROL_USAGE, UsageError } from './usage.ts'

/** Runs one `control` command; returns the exit code. */
export async function control(args: readonly string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: { secrets: { type: 'boolean' }, overwrite: { type: 'boolean' } },
  })
  const [command, file] = positionals
  if ((command !== 'export' && command !== 'import') || file === undefined || positionals.length > 2) {
    throw new UsageError(CONTROL_USAGE)
  }
  // Before anything is opened: a file that is not whole changes nothing.
  const lines = command === 'import' ? readControlLines(await read(file)) : []
  const nc = await openNats()
  try {
    const { control: records } = await openBuckets(nc)
    if (command === 'import') {
      const { written, kept } = await importControl(records, lines, { overwrite: values.overwrite ?? false })
      console.log(`written ${written}, kept ${kept} that stood there already`)
      return 0
    }
    const found = await exportControl(records, { secrets: values.secrets ?? false })
    const text = found.map(line => `${JSON.stringify(line)}\n`).join('')
    if (file === '-') process.stdout.write(text)
    // Hashes of keys and addresses of people: for whoever exports alone.
    else await writeFile(file, text, { mode: 0o600 })
    console.error(`exported ${found.length} records`)
    return 0
  } finally {
    await nc.close()
  }
}

async function read(file: string): Promise<string> {
  try {
    return file === '-' ? await textOf(process.stdin) : await readFile(file, 'utf8')
  } catch (cause) {
    throw new UsageError(`${file} cannot be read`, { cause })
  }
}
