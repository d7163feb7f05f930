// Property tests take the same path in every run, so that a failure is everybody's and not a matter
// of luck. Another path: PENSTOCK_PROPERTY_SEED=<number> npm test; `random` draws one.

import fc from 'fast-check';

const wish = process.env.PENSTOCK_PROPERTY_SEED;
if (wish !== 'random') fc.configureGlobal({ seed: Number(wish ?? 20_261_121) });
