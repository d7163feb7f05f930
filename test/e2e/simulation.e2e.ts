// Does every promise hold in two thousand runs? The simulation of `npm test`, with twenty times as many seeds.

import { testShareOfRuns } from '../simulation/every-promise.ts';

for (const file of [0, 1]) testShareOfRuns(file, 2_000);
