// The readers of SDK bodies for one range of messages.
import { SdkEvents } from './sdk-events.ts'
import { SdkSessions } from './sdk-sessions.ts'

/** Where the parts of a range's SDK bodies stand, as far as they are read from their bytes. */
export interface SdkBodies {
  readonly events: SdkEvents
  readonly sessions: SdkSessions
}

/** Readers over the messages of a range. */
export function openBodies(bytes: Uint8Array): SdkBodies {
  return { events: new SdkEvents(bytes), sessions: new SdkSessions(bytes) }
}
