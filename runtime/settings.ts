// Environment -> checked settings. Every part declares its settings as data in its config.ts; this reads them once, names every
// bad one in a single error, and lets a test compare the declarations with the README.
import { ParleyError } from '#proto/errors.ts'

/** A process environment. */
export type Env = Readonly<Record<string, string | undefined>>

/** One setting: its variable, its sentence for the README, and how its text becomes a value. */
export interface Setting<T> {
  readonly name: string
  readonly about: string
  /** The default as the README shows it. */
  readonly shown: string
  /** Returns the value, or an Error whose message says what is expected. `text` undefined = not set. */
  readonly read: (text: string | undefined) => T | Error
}

/** The values of a table of settings. */
export type Values<S> = { readonly [K in keyof S]: S[K] extends Setting<infer T> ? T : never }

/** A whole number between `min` and `max`. */
export function integer(
  name: string,
  about: string,
  options: { default: number; min: number; max: number },
): Setting<number> {
  const { min, max } = options
  return {
    name,
    about,
    shown: String(options.default),
    read: text => {
      if (text === undefined || text === '') return options.default
      // Digits alone: Number() reads a blank as 0, which is "no limit" for some.
      const value = /^\d+$/.test(text) ? Number(text) : Number.NaN
      return value >= min && value <= max
        ? value
        : new Error(`must be a whole number from ${min} to ${max}, not ${JSON.stringify(text)}`)
    },
  }
}

/** Free text. */
export function text(name: string, about: string, fallback = ''): Setting<string> {
  return { name, about, shown: fallback, read: value => value || fallback }
}

/** A name that is made of certain characters, because of where it is put; `expected` says them. */
export function named(
  name: string,
  about: string,
  { pattern, expected, fallback = '' }: { pattern: RegExp; expected: string; fallback?: string },
): Setting<string> {
  return {
    name,
    about,
    shown: fallback,
    read: value => {
      if (value === undefined || value === '') return fallback
      return pattern.test(value) ? value : new Error(`must be ${expected}, not ${JSON.stringify(value)}`)
    },
  }
}

/** Names separated by commas. */
export function names(name: string, about: string): Setting<readonly string[]> {
  return {
    name,
    about,
    shown: '',
    read: value => {
      const list = (value ?? '').split(',').flatMap(each => (each.trim() === '' ? [] : [each.trim()]))
      const odd = list.find(each => !/^[\w.:-]{1,200}$/.test(each))
      return odd === undefined ? list : new Error(`must be names separated by commas, not ${JSON.stringify(odd)}`)
    },
  }
}

/** Origins such as https://dashboards.example, separated by commas. */
export function origins(name: string, about: string): Setting<readonly string[]> {
  return {
    name,
    about,
    shown: '',
    read: value => {
      const list = (value ?? '').split(',').flatMap(each => (each.trim() === '' ? [] : [each.trim()]))
      const odd = list.find(each => !/^https?:/.test(each) || !URL.canParse(each) || new URL(each).origin !== each)
      return odd === undefined ? list : new Error(`must be origins such as https://host, not ${JSON.stringify(odd)}`)
    },
  }
}

/** One of a few words. */
export function choice<const T extends string>(
  name: string,
  about: string,
  words: readonly T[],
  fallback: NoInfer<T>,
): Setting<T> {
  return {
    name,
    about,
    shown: fallback,
    read: value => {
      if (value === undefined || value === '') return fallback
      const word = words.find(w => w === value)
      return word ?? new Error(`must be one of ${words.join(', ')}, not ${JSON.stringify(value)}`)
    },
  }
}

/** Whether an address has to be set, and how it may begin; the first is what an error shows. */
interface AddressOptions {
  readonly required: boolean
  readonly schemes: readonly [string, ...string[]]
}

export const HTTP = ['http', 'https'] as const
export const NATS = ['nats', 'tls'] as const

/** Without its scheme an address is one of another kind: `localhost:8123` is the scheme `localhost`, and a path. */
const isAddress = (text: string, schemes: readonly string[]): boolean =>
  URL.canParse(text) && schemes.includes(new URL(text).protocol.slice(0, -1)) && new URL(text).hostname !== ''

/** An address such as http://user:password@host:8123; '' when not set and not required. */
export function url(name: string, about: string, { required, schemes }: AddressOptions): Setting<string> {
  return {
    name,
    about,
    shown: '',
    read: value => {
      if (value === undefined || value === '') return required ? new Error('is required') : ''
      return isAddress(value, schemes) ? value : new Error(`must be an address such as ${schemes[0]}://host:port`)
    },
  }
}

/** One address or several, separated by commas; '' when not set and not required. */
export function addresses(name: string, about: string, options: AddressOptions): Setting<string> {
  const one = url(name, about, { ...options, required: true })
  return {
    ...one,
    read: value => {
      if (!value && !options.required) return ''
      const read = (value ?? '').split(',').map(each => one.read(each.trim()))
      return read.find(each => each instanceof Error) ?? read.join(',')
    },
  }
}

/**
 * Reads a table of settings from an environment.
 * @throws ParleyError CFG_INVALID naming every variable that is wrong and why; values of variables named *_URL are not shown.
 */
export function readSettings<S extends Readonly<Record<string, Setting<unknown>>>>(env: Env, table: S): Values<S> {
  const values: Record<string, unknown> = {}
  const wrong: string[] = []
  for (const [key, setting] of Object.entries(table)) {
    const value = setting.read(env[setting.name])
    if (value instanceof Error) wrong.push(`${setting.name} ${value.message}`)
    else values[key] = value
  }
  if (wrong.length > 0) throw new ParleyError('CFG_INVALID', wrong.join('; '))
  return values as Values<S>
}
