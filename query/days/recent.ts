// A map in the order in which its entries were asked for: whoever is asked for last stays longest.

/** Keeps an entry as the one that was asked for last; above `max`, those that were not asked for the longest time go. */
export function keepRecent<Key, Value>(map: Map<Key, Value>, [key, value]: readonly [Key, Value], max: number): void {
  map.delete(key)
  map.set(key, value)
  for (const one of map.keys()) {
    if (map.size <= max) return
    map.delete(one)
  }
}
