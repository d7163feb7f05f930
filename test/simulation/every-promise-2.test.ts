// Does every promise hold? The second share of the runs.

import { testShareOfRuns } from './every-promise.ts';

testShareOfRuns(1);
