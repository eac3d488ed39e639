// Text as it is stored: valid Unicode, cut only between characters. NUL is allowed, ClickHouse stores it.

/** The text without lone surrogates: they have no UTF-8 and would make a row unreadable for the store. */
export function wellFormed(text: string): string {
  return text.toWellFormed()
}

/** At most `units` UTF-16 units, never half a character. Precondition: well-formed. */
export function cutUnits(text: string, units: number): string {
  if (text.length <= units) return text
  const last = text.charCodeAt(units - 1)
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? units - 1 : units)
}

/** At most `bytes` bytes of UTF-8, never half a character. Precondition: well-formed. */
export function cutBytes(text: string, bytes: number): string {
  // A unit is at most three bytes, so most texts need no counting.
  if (text.length * 3 <= bytes) return text
  const encoded = Buffer.from(text.length > bytes ? text.slice(0, bytes) : text)
  if (encoded.length <= bytes) return encoded.length === bytes ? encoded.toString() : text
  let end = bytes
  while (end > 0 && ((encoded[end] as number) & 0xc0) === 0x80) end--
  return encoded.toString('utf8', 0, end)
}
