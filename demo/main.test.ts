// The demo's command from outside: what keeps it from sending is one line.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { freePort } from '#local/ports.ts'
import { nodeEnv, tempDir } from '#test/rig.ts'

const MAIN = fileURLToPath(new URL('./main.ts', import.meta.url))

t.test('a wrong setting, no instance, and one that does not answer', async t => {
  const dataDir = await tempDir(t)
  const f = async (env: Record<string, string>, line: RegExp): Promise<void> => {
    const child = spawn(process.execPath, [MAIN], {
      env: { PATH: process.env.PATH, ...nodeEnv, PARLEY_DATA_DIR: dataDir, ...env },
    })
    t.teardown(() => child.kill('SIGKILL'))
    let told = ''
    for (const stream of [child.stdout, child.stderr]) stream.on('data', chunk => (told += String(chunk)))
    const [code] = (await once(child, 'close')) as [number | null]
    t.equal(code, 1)
    t.match(told, line)
    t.equal(told.trim().split('\n').length, 1, told)
  }
  await f({ PARLEY_DEMO_DAYS: '9999' }, /^A setting is not valid: PARLEY_DEMO_DAYS must be/)
  await f({}, /^No running instance found in .*local\.json/)
  const baseUrl = `http://127.0.0.1:${await freePort()}`
  const gone = { base_url: baseUrl, otel_url: baseUrl, org_id: '-', api_key: '-' }
  await writeFile(join(dataDir, 'local.json'), JSON.stringify(gone))
  await f({}, new RegExp(`^Nothing answers at ${baseUrl}\\.`))
})
