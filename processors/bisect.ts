// Finding the guilty few among many by asking about halves.

/**
 * The items that are guilty alone. `isGuilty` says whether a group misbehaves; groups that behave are cleared as a whole, so the
 * cost is about log2(n) questions for each guilty item.
 */
export async function bisect<T>(
  items: readonly T[],
  isGuilty: (group: readonly T[]) => Promise<boolean>,
): Promise<T[]> {
  if (items.length === 0 || !(await isGuilty(items))) return []
  if (items.length === 1) return [...items]
  const middle = items.length >> 1
  return [...(await bisect(items.slice(0, middle), isGuilty)), ...(await bisect(items.slice(middle), isGuilty))]
}
