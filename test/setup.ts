// Property tests take the same path in every run, so that a failure is everybody's and not a matter
// of luck. Another path: PENSTOCK_PROPERTY_SEED=<number> npm test; `random` draws one.

import './support/kept-compiled.ts';
import fc from 'fast-check';
import { afterAll, expect } from 'vitest';
import { takeReported } from './support/reported-secrets.ts';
import { listRunning } from './support/running.ts';

const wish = process.env.PENSTOCK_PROPERTY_SEED;
if (wish !== 'random') fc.configureGlobal({ seed: Number(wish ?? 20_261_121) });

// Whatever could be made to write into the prototype of all objects throws here, in the tests of every file (T14). Sealed, not frozen:
// libraries give objects members of these names, which a frozen prototype forbids.
const before = Object.getOwnPropertyDescriptors(Object.prototype);
Object.seal(Object.prototype);

afterAll(() => {
  expect(Object.getOwnPropertyDescriptors(Object.prototype), 'Object.prototype was written to').toEqual(
    Object.isSealed(Object.prototype) ? withoutConfigurable(before) : before,
  );
});

afterAll(() => {
  expect(takeReported(), 'a process that was started wrote a secret (T11)').toEqual([]);
});

// The next file is taken by the same process: what this one leaves running takes its time, or answers it.
const runningBefore = await listRunning();
afterAll(async () => {
  expect(await listRunning(), 'something that was started has not been stopped').toEqual(runningBefore);
});

function withoutConfigurable(descriptors: PropertyDescriptorMap): PropertyDescriptorMap {
  return Object.fromEntries(
    Object.entries(descriptors).map(([name, descriptor]) => [name, { ...descriptor, configurable: false }]),
  );
}
