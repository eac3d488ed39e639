// AutoGen: agents and tools by GenAI names, without content and usage; the passing of messages is noise.
import type { Dialect } from '../dialect.ts'

export const autogen: Dialect = {
  name: 'autogen',
  source: 'microsoft/autogen python/packages/autogen-core/src/autogen_core/_telemetry/{_genai,_constants}.py',
  matches: { scopes: ['autogen', 'autogen-core'], values: { 'gen_ai.system': ['autogen'] } },
  names: { 'autogen create': 'other', 'autogen send': 'other', 'autogen publish': 'other', 'autogen process': 'other' },
}
