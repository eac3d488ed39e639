// Many numbers in any order -> the first few of them in order. A day has ten thousands of conversations of which a page shows fifty: to put all
// in order, most of them beside others of the same millisecond, took longer than all else that the page does.

/** Candidates that are put in order at once, besides twice as many as are wanted. */
const AT_ONCE = 64

/** The first `count` of `all` that pass; `order` as `sort` takes it, and never 0. What is behind the first ones need not pass. */
export function firstOf(
  all: ArrayLike<number>,
  count: number,
  order: (a: number, b: number) => number,
  passes: (one: number) => boolean = () => true,
): number[] {
  let last: number | undefined
  let found: number[] = []
  // From the end: there stands what came last, which is what pages mostly show.
  for (let i = all.length - 1; i >= 0; i--) {
    const one = all[i] as number
    if ((last !== undefined && order(last, one) < 0) || !passes(one)) continue
    found.push(one)
    if (found.length < count * 2 + AT_ONCE) continue
    found = found.sort(order).slice(0, count)
    last = found.at(-1)
  }
  return found.sort(order).slice(0, count)
}
