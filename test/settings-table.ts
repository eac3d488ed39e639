// The README's table of settings, from the declarations of every part.

import { ingestSettings } from '#ingest/config.ts'
import { launcherSettings } from '#local/config.ts'
import { processorSettings } from '#processors/config.ts'
import { querySettings } from '#query/config.ts'
import { commonSettings } from '#runtime/config.ts'
import type { Setting } from '#runtime/settings.ts'
import { analysisSettings } from '../analysis/config.ts'
import { cliSettings } from '../cli/config.ts'
import { demoSettings } from '../demo/config.ts'

const groups: readonly (readonly [string, Readonly<Record<string, Setting<unknown>>>])[] = [
  ['every process', commonSettings],
  ['launcher', launcherSettings],
  ['receivers', ingestSettings],
  ['processors', processorSettings],
  ['query node', querySettings],
  ['analysis', analysisSettings],
  ['parley command', cliSettings],
  ['demo', demoSettings],
]

/** Variables that two parts declare otherwise: another default, another meaning, another answer to a value that is wrong. */
export function declaredOtherwise(): string[] {
  const first = new Map<string, string>()
  return groups.flatMap(([group, table]) =>
    Object.values(table).flatMap(({ name, about, shown, read }) => {
      // Values at which declarations of one kind part: none, a blank, a number, a word, an address.
      const said = [undefined, ' ', '0', '70000', 'word', 'http://host', 'nats://host'].map(text => {
        const value = text === undefined && NEEDED_BY_PARTS.includes(name) ? undefined : read(text)
        return value instanceof Error ? value.message : value
      })
      const declared = JSON.stringify([about, shown, said])
      const before = first.get(name)
      if (before === undefined) first.set(name, declared)
      return before === undefined || before === declared ? [] : [`${name} of ${group}`]
    }),
  )
}

/** The launcher and commands find these by themselves; the parts that they start need them. */
const NEEDED_BY_PARTS = ['NATS_URL', 'CLICKHOUSE_URL']

/** Markdown rows, one a variable; a variable that several parts read stands where it comes first. */
export function settingsTable(): string {
  const seen = new Set<string>()
  const rows = groups.flatMap(([group, table]) =>
    Object.values(table).flatMap(setting => {
      if (seen.has(setting.name)) return []
      seen.add(setting.name)
      const shown = setting.shown === '' ? '' : `\`${setting.shown}\``
      return [`| \`${setting.name}\` | ${shown} | ${group} | ${setting.about} |`]
    }),
  )
  return ['| variable | default | read by | what it sets |', '|---|---|---|---|', ...rows].join('\n')
}
