// The process of the embedded ClickHouse: loads the engine's library, runs it with the configuration file of its first argument,
// and ends on SIGTERM or when its starter is gone. The engine serves ClickHouse's own HTTP protocol.
//
// libchdb is `clickhouse local` as a library. Its query starts the HTTP listener and then never ends, which keeps it serving.
import { createRequire } from 'node:module'
import { DataType, load, open } from 'ffi-rs'

const require = createRequire(import.meta.url)
const { libchdbPath } = require('chdb/libchdb') as { libchdbPath: (options: { env: object }) => string }

const [dataDir, configFile, port] = process.argv.slice(2)
if (dataDir === undefined || configFile === undefined || port === undefined) {
  throw new Error('usage: clickhouse-host.ts <data folder> <configuration file> <port>')
}

/** Asleep nearly always; one row a wake-up, and no look at the progress in between (by default ten a second). */
const FOR_EVER =
  'SELECT sleepEachRow(3) FROM system.numbers FORMAT Null SETTINGS max_block_size = 1, interactive_delay = 3000000'

open({ library: 'chdb', path: libchdbPath({ env: {} }) })

// The engine's exit handlers wait for the query that never ends, so a plain exit hangs. Whatever was answered is in the files by
// now, and starting after SIGKILL is something the engine has to be able to do anyway: this is the same, on purpose.
const end = (): void => {
  process.kill(process.pid, 'SIGKILL')
}
process.on('SIGTERM', end)
process.on('SIGINT', end)
if (process.send) process.on('disconnect', end)

const argv = [
  'clickhouse',
  '--path',
  dataDir,
  '--config-file',
  configFile,
  '--listen-host',
  '127.0.0.1',
  '--query',
  `SYSTEM START LISTEN HTTP; ${FOR_EVER}`,
  '--',
  `--http_port=${port}`,
  '--tcp_port=0',
]
// On a thread of its own: the call returns only when the engine ends, and this process has to keep hearing its signals.
const code: unknown = await load({
  library: 'chdb',
  funcName: 'query_stable',
  retType: DataType.I64,
  paramsType: [DataType.I32, DataType.StringArray],
  paramsValue: [argv.length, argv],
  runInNewThread: true,
})
console.error(`the engine ended by itself (${String(code)})`)
process.exitCode = 1
