// The cursor of one owner in the bucket of a world: edits go in, one at a time; each is written by a compare-and-set whose answer may get
// lost before or after it took effect.
import type { Cursor, Intent, IntentName } from '../protocol.ts'
import { isNamed } from '../protocol.ts'
import { Gone, type Steps } from './statements.ts'
import type { World } from './world.ts'

/** What one owner believes the cursor to be. */
export class CursorModel {
  readonly #world: World
  #value!: Cursor
  #revision = 0
  #writing = false

  constructor(world: World) {
    this.#world = world
  }

  /** Takes what stands in the bucket now; comes before all else. */
  read(): void {
    ;({ value: this.#value, revision: this.#revision } = this.#world.cursor)
  }

  get value(): Cursor {
    return this.#value
  }

  /** The open intent of that name. */
  intent(name: IntentName): Intent {
    return this.#value.intents.find(open => isNamed(open, name) && !open.done) as Intent
  }

  /** Compare-and-set whose answer may get lost before or after it took effect. Writes queue. @throws Gone. */
  *write(edit: (cursor: Cursor) => Cursor): Steps<void> {
    const world = this.#world
    while (this.#writing) yield
    this.#writing = true
    const next = edit(this.#value)
    for (;;) {
      yield
      const applies = world.cursor.revision === this.#revision && !world.chance(0.1)
      if (applies) world.cursor = { value: next, revision: this.#revision + 1 }
      if (!applies || world.chance(0.15)) {
        yield
        if (JSON.stringify(world.cursor.value) !== JSON.stringify(next)) {
          if (world.cursor.revision !== this.#revision) throw new Gone()
          continue
        }
      }
      this.#revision = world.cursor.revision
      this.#value = next
      this.#writing = false
      return
    }
  }
}
