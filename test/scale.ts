// How much a test tries where trying more finds more: kills, random cases, sizes. `npm test` takes a sample that still catches what is
// wrong on purpose; `npm run test:full` (PARLEY_TEST_SCALE=full) takes all.
// A sample is fewer of the same: no kind of case is left out of it, only how often chance is asked for another one of its kind.

/** The number of this run: `sample`, or `full` when everything was asked for. */
export function scaled(amounts: { readonly sample: number; readonly full: number }): number {
  return process.env.PARLEY_TEST_SCALE === 'full' ? amounts.full : amounts.sample
}
