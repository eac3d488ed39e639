// How much of texts an answer shows, so that all of them together stay within a sum, and a text cut to that.

/** The most bytes that each of some texts may show: at most `each`, and together at most `total`. What is short leaves its share to others. */
export function shareOf(sizes: readonly number[], { each, total }: { each: number; total: number }): number {
  let left = total
  const sorted = sizes.map(size => Math.min(size, each)).sort((a, b) => a - b)
  for (const [i, size] of sorted.entries()) {
    const share = Math.floor(left / (sorted.length - i))
    if (size > share) return share
    left -= size
  }
  return each
}

/** At most so many bytes of UTF-8, on a character. */
export function cutText(text: string, maxBytes: number): string {
  // No character has fewer bytes than UTF-16 units.
  if (text.length * 3 <= maxBytes) return text
  const bytes = Buffer.from(text)
  if (bytes.length <= maxBytes) return text
  let end = maxBytes
  while (((bytes[end] ?? 0) & 0xc0) === 0x80) end--
  return bytes.toString('utf8', 0, end)
}
