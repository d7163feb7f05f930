// Does every promise hold? The fourth share of the runs.

import { testShareOfRuns } from './every-promise.ts';

testShareOfRuns(3);
