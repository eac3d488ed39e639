// Spectrum-TS: a chat platform's messages, without their texts.
import type { Dialect } from '../dialect.ts'

export const spectrum: Dialect = {
  name: 'spectrum',
  source: 'photon-hq/spectrum-ts packages/core',
  matches: { scopes: ['spectrum', '@spectrum-ts'], keys: ['spectrum.'] },
  fields: { session_id: ['spectrum.space.id'], user_id: ['spectrum.message.sender.id'] },
}
