// The process of the embedded ClickHouse: loads the engine's library, runs it over a data folder with a configuration file, and ends on
// SIGTERM, when its starter is gone, or before the disk is full. The engine serves ClickHouse's own HTTP protocol.
//
// libchdb is `clickhouse local` as a library. Its query starts the HTTP listener and then never ends, which keeps it serving.
import { createRequire } from 'node:module'
import { dirname } from 'node:path'
import { DataType, load, open } from 'ffi-rs'
import { watchSpace } from './disk-space.ts'

const require = createRequire(import.meta.url)
const { libchdbPath } = require('chdb/libchdb') as { libchdbPath: (options: { env: object }) => string }

const [dataDir, configFile, port, stopBytes] = process.argv.slice(2)
if (dataDir === undefined || configFile === undefined || port === undefined || stopBytes === undefined) {
  throw new Error(
    'usage: clickhouse-host.ts <data folder> <configuration file> <port> <bytes of the disk that have to be free>',
  )
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
// A write that finds no room is taken for written by this engine (26.7): whatever it answered afterwards would be lost.
const tooFull = (free: number): void => {
  console.error(`the engine is ended: ${dataDir} has only ${free} bytes free, and a full disk would cost rows`)
  end()
}
watchSpace({ path: dirname(dataDir), leastBytes: Number(stopBytes), onShort: tooFull })
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
