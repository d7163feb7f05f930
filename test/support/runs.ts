// How often is a property tried? `npm run e2e -- properties` tries all; `npm test` a quarter, by the same seeds.

/** `all` makes all runs. */
export const allRunsVariable = 'PENSTOCK_PROPERTY_RUNS';

/** @param all The runs of the whole property. */
export function runs(all: number): number {
  return process.env[allRunsVariable] === 'all' ? all : Math.ceil(all / 4);
}
