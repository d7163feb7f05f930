// Does every promise hold? The first share of the runs.

import { testShareOfRuns } from './every-promise.ts';

testShareOfRuns(0);
