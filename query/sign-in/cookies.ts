// Cookies of the sign-in, and who may make a browser send them. Over https they carry the prefix that keeps other hosts, other paths
// and plain http from setting them.
import type { Headers } from '../auth.ts'

/** The cookies of one installation. */
export interface Cookies {
  /** The browser that is signed in; sent to /auth by pages of this site alone. */
  readonly session: Cookie
  /** The way to the identity provider and back; sent when the provider leads back. */
  readonly login: Cookie
}

/** One cookie. */
export interface Cookie {
  read(headers: Headers): string | undefined
  set(value: string, maxAgeS: number): string
  clear(): string
}

/** The cookies of the site at `publicUrl`. */
export function createCookies(publicUrl: string): Cookies {
  const isSecure = publicUrl.startsWith('https:')
  const make = (name: string, sameSite: 'Strict' | 'Lax'): Cookie => {
    const full = isSecure ? `__Host-${name}` : name
    const flags = `Path=/; HttpOnly; SameSite=${sameSite}${isSecure ? '; Secure' : ''}`
    return {
      read: headers => readCookie(headers, full),
      set: (value, maxAgeS) => `${full}=${value}; Max-Age=${maxAgeS}; ${flags}`,
      clear: () => `${full}=; Max-Age=0; ${flags}`,
    }
  }
  return { session: make('parley_session', 'Strict'), login: make('parley_login', 'Lax') }
}

function readCookie(headers: Headers, name: string): string | undefined {
  for (const pair of String(headers.cookie ?? '').split(';')) {
    const at = pair.indexOf('=')
    if (at > 0 && pair.slice(0, at).trim() === name) return pair.slice(at + 1).trim()
  }
  return undefined
}

/**
 * True for a request that a page of another site makes a browser send. Browsers of these years say where a request comes from, older
 * ones at least the page's origin; who says nothing is no browser, and has no cookies of a victim.
 */
export function isCrossSite(headers: Headers, publicUrl: string): boolean {
  const site = headers['sec-fetch-site']
  if (site !== undefined) return site !== 'same-origin' && site !== 'none'
  const { host } = headers
  if (headers.origin === undefined) return false
  const origin = String(headers.origin)
  return origin !== new URL(publicUrl).origin && !(URL.canParse(origin) && new URL(origin).host === host)
}
