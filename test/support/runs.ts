// How often is a property tried, a text cut, and how wide is a play? `npm run e2e -- properties` has all of it; `npm test` an eighth, by
// the same seeds, or another share.

/** `all` makes all runs. */
export const allRunsVariable = 'PENSTOCK_PROPERTY_RUNS';

const makesAll = process.env[allRunsVariable] === 'all';

/** @param all The runs of the whole property. @param share `npm test` makes one of so many. */
export function runs(all: number, share = 8): number {
  return makesAll ? all : Math.ceil(all / share);
}

/** Of cases that are much alike: `npm test` plays one of so many, from the one at `first` on. */
export function some<T>(all: readonly T[], share: number, first = 0): readonly T[] {
  return makesAll ? all : all.filter((_, index) => index % share === first);
}

/**
 * From one place to cut a text to the next one.
 *
 * @param all The step of the whole property. The wider one shares no factor with it, so other places come up in a text of other length.
 */
export function cutStep(all: number): number {
  return makesAll ? all : 8 * all + 1;
}
