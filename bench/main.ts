// npm run bench -- <case> [options]: runs one bench by name. Without a name it lists them.
import { backlog } from './cases/backlog.ts'
import { bomb } from './cases/bomb.ts'
import { compress } from './cases/compress.ts'
import { endToEnd } from './cases/end-to-end.ts'
import { gateway } from './cases/gateway.ts'
import { handOver } from './cases/hand-over.ts'
import { idle } from './cases/idle.ts'
import { ingest } from './cases/ingest.ts'
import { ingestControl } from './cases/ingest-control.ts'
import { ingestFloor } from './cases/ingest-floor.ts'
import { ingestMemory } from './cases/ingest-memory.ts'
import { kills } from './cases/kills.ts'
import { late } from './cases/late.ts'
import { moves } from './cases/moves.ts'
import { planning } from './cases/planning.ts'
import { processing } from './cases/process.ts'
import { pulls } from './cases/pulls.ts'
import { query } from './cases/query.ts'
import { queryFuzz } from './cases/query-fuzz.ts'
import { rows } from './cases/rows.ts'
import { scan } from './cases/scan.ts'
import { scanFuzz } from './cases/scan-fuzz.ts'
import { search } from './cases/search.ts'
import { slowClient } from './cases/slow-client.ts'
import { spans } from './cases/spans.ts'
import { sqlGuard } from './cases/sql-guard.ts'
import { stored } from './cases/stored.ts'
import { texts } from './cases/texts.ts'
import { twoReceivers } from './cases/two-receivers.ts'
import { visible } from './cases/visible.ts'

const cases: Readonly<Record<string, { about: string; run: (args: readonly string[]) => Promise<void> }>> = {
  backlog: {
    about: 'new events beside a backlog, and how fast it is caught up on; --seconds (60), --rate (3000)',
    run: backlog,
  },
  bomb: { about: 'how long gzip bombs stall a receiver', run: bomb },
  compress: {
    about: 'bodies of inserts as they are and compressed: CPU of both sides, bytes; --rounds (5), --only <pattern>',
    run: compress,
  },
  'end-to-end': {
    about:
      'spans accepted and visible a second on this machine, and the limit; --seconds (60), --connections (8), --profile <folder>',
    run: endToEnd,
  },
  gateway: { about: 'a gateway process in front of the receivers, against none', run: gateway },
  'hand-over': {
    about: 'sessions created on one receiver and used at once on another; --rounds (100000)',
    run: handOver,
  },
  idle: { about: 'memory and CPU of the running, idle instance', run: idle },
  late: {
    about:
      'traces in pieces, roots last or never: time home, sums recounted each second; --traces (100000), --rate (4000), --kills (0), --slow (seconds)',
    run: late,
  },
  moves: {
    about:
      'rows of a large tenant go home: how long, and where it goes; --traces (20000), --spans (11), --home (4000000), --rest',
    run: moves,
  },
  planning: {
    about:
      'what reads of the dashboard cost over a few rows, under other settings in turn; --rounds (9), --variant "name: setting = value, …"',
    run: planning,
  },
  process: {
    about: 'from bytes to rows: parley, the ordinary design, the engine alone; --rounds (5), --only <pattern>',
    run: processing,
  },
  pulls: {
    about:
      'pulls that end while messages come, and of how many the server says so; --pulls (500), --expires (1000), --every (10)',
    run: pulls,
  },
  query: {
    about:
      'every endpoint over stores built inside the engine and kept in --dir, alone and at 2,000 events/s, beside a recount; --events (100000000), --texts (10000000), --share (0.2), --rounds (20), --only <pattern>, --out, --build-only, --no-recount, --no-load, --hostile',
    run: query,
  },
  'query-fuzz': {
    about: '100,000 requests made by chance against the query node (or the number given)',
    run: queryFuzz,
  },
  rows: {
    about:
      'what a span costs the store, and what other schemas would make of it; --blocks (12), --rows (8000), --rounds (2), --tables, --chosen, --variant "name: SQL; SET setting = value"',
    run: rows,
  },
  scan: { about: 'the check of a body: JSON.parse and schemas against the byte scanner', run: scan },
  'scan-fuzz': { about: '10,000,000 mutated bodies (or the number given), checked both ways', run: scanFuzz },
  search: {
    about:
      'indexes of texts in several forms, and the search over events and texts; --texts (1000000), --compared (100000)',
    run: search,
  },
  spans: { about: 'a span from bytes to rows, by the framework that wrote it', run: spans },
  ingest: {
    about:
      'the receiver between a bare server and the ordinary design; --quick, --only <pattern>, --rounds, --seconds, --save',
    run: ingest,
  },
  'ingest-control': {
    about: 'the receiver while organizations are made, renamed and closed; --rounds (9), --seconds (2), --changes (20)',
    run: ingestControl,
  },
  'ingest-floor': {
    about:
      'what each duty of a receiver costs beside a bare server; --rounds (7), --seconds (2), --connections (64,512)',
    run: ingestFloor,
  },
  'ingest-memory': {
    about: "the receiver's resident size at full rate; --minutes (20), --connections (512)",
    run: ingestMemory,
  },
  kills: {
    about:
      'exactly once while processors, ClickHouse and NATS are killed at random; --kills 300, --events 1000000, --seed',
    run: kills,
  },
  'sql-guard': {
    about: "the guard of tenants' SQL: time a statement, and 5,000 spliced ones that must not pass",
    run: sqlGuard,
  },
  stored: {
    about: 'what a span costs each thread of a processor, stream to store; --spans (400000), --warm (200000)',
    run: stored,
  },
  texts: {
    about:
      'bytes on disk beside OTLP JSON, and of conversations whose every call repeats the history; --events (300000), --conversations (200), --turns (50), and of conversations as five instrumentations write them; --spans (100000), --tools (4), --only <pattern>, --forms',
    run: texts,
  },
  'two-receivers': {
    about: 'the same load to one receiver and shared out among two; --rounds (7), --seconds (2)',
    run: twoReceivers,
  },
  'slow-client': {
    about: 'other reads beside a CSV of 10^6 rows that is read slowly; --rows (1000000), --rounds (5), --seconds (8)',
    run: slowClient,
  },
  visible: {
    about: 'from 200 to visible in /raw-logs, idle and at 5,000 events/s, on the running instance',
    run: visible,
  },
}

const chosen = cases[process.argv[2] ?? '']
if (chosen) await chosen.run(process.argv.slice(3))
else {
  console.log('usage: npm run bench -- <case> [options]\n')
  for (const [name, { about }] of Object.entries(cases)) console.log(`  ${name.padEnd(14)} ${about}`)
  process.exitCode = 1
}
