// Mutated bodies by the ten million: the byte scanners against JSON.parse, the schemas, the OTLP checks and protobufjs. `npm run bench --
// scan-fuzz [bodies] [seed] [kind]`, all kinds or one of them; a difference ends the run and prints the body. The tests run a tenth of it.
import { fuzzJson } from '#proto/scan/fuzz/json.ts'
import { fuzzOtlpJson } from '#proto/scan/fuzz/otlp-json.ts'
import { fuzzOtlpProtobuf } from '#proto/scan/fuzz/otlp-protobuf.ts'
import { createRandom } from '#proto/scan/fuzz/random.ts'
import { fuzzSdk } from '#proto/scan/fuzz/sdk.ts'
import { fuzzVoiceLive } from '#proto/scan/fuzz/voice-live.ts'

const BODIES = 10_000_000
const PORTION = 100_000

/** Runs the case and prints what it met. */
export async function scanFuzz(): Promise<void> {
  const bodies = Number(process.argv[3] ?? BODIES)
  const seed = Number(process.argv[4] ?? Date.now() % 1_000_000_000)
  const only = process.argv[5]
  console.log(`${bodies} bodies, seed ${seed}`)
  const random = createRandom(seed)
  const shares: readonly [name: string, share: number, fuzz: (count: number) => object][] = [
    ['json', 0.25, count => fuzzJson(random, count)],
    ['sdk', 0.3, count => fuzzSdk(random, count)],
    ['otlp-json', 0.15, count => fuzzOtlpJson(random, count)],
    ['otlp-protobuf', 0.25, count => fuzzOtlpProtobuf(random, count)],
    ['voice', 0.05, count => fuzzVoiceLive(random, count)],
  ]
  for (const [name, share, fuzz] of shares) {
    if (only !== undefined && only !== name) continue
    const total: Record<string, number> = {}
    for (let left = Math.round(bodies * (only === undefined ? share : 1)); left > 0; left -= PORTION) {
      for (const [what, count] of Object.entries(fuzz(Math.min(left, PORTION))))
        total[what] = (total[what] ?? 0) + count
    }
    console.log(`${name}: no difference`, total)
  }
}
