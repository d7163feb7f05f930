// Does every promise hold? The third share of the runs.

import { testShareOfRuns } from './every-promise.ts';

testShareOfRuns(2);
