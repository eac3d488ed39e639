// Which parser reads which kind of frame.

import { packTraces } from './bytes/pack.ts'
import { openBodies } from './direct/bodies.ts'
import type { Parsers } from './frames.ts'
import { parseTraces } from './parsers/otlp.ts'
import { parseEvent, parseSession } from './parsers/sdk.ts'
import { parseVoice } from './parsers/voice.ts'

/** The parsers of this build. */
export const parsers: Parsers = {
  session: parseSession,
  event: parseEvent,
  voice: parseVoice,
  otlp: parseTraces,
  openBodies,
  packTraces,
}
