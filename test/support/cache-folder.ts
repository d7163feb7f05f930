// Where is kept what later runs of the tests can use? Outside the checkout.

import { homedir } from 'node:os';
import { join } from 'node:path';

export const cacheFolder = (): string =>
  join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'penstock');

/** Of the bundles of this and of earlier states of the sources. */
export const builtFolder = (): string => join(cacheFolder(), 'built');
