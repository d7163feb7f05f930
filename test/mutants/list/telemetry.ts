// Which safeguards of what leaves by OTLP are noticed when they are gone?

import type { Mutant } from '../mutant.ts';

export const telemetry: readonly Mutant[] = [
  {
    name: 'what waits for a collector is bounded',
    file: 'telemetry/queue.ts',
    from: 'if (this.waiting === itemsMax) {',
    to: 'if (this.waiting === itemsMax + 1) {',
    tests: ['test/telemetry/queue.test.ts'],
  },
  {
    name: 'a collector that does not answer is given up',
    file: 'telemetry/queue.ts',
    from: 'const isTaken = await Promise.race([send(batch), late.promise]);',
    to: 'const isTaken = await send(batch);',
    tests: ['test/telemetry/queue.test.ts'],
  },
  {
    name: 'a trace that nobody could have begun is none',
    file: 'telemetry/trace-context.ts',
    from: 'if (parent !== undefined) return undefined;',
    to: '',
    tests: ['test/telemetry/trace-context.test.ts'],
  },
  {
    name: 'a state that is longer than it may be is not passed on',
    file: 'telemetry/trace-context.ts',
    from: 'if (state.length > stateLengthMax) return undefined;',
    to: '',
    tests: ['test/telemetry/trace-context.test.ts'],
  },
  {
    name: 'telemetry leaves the process no longer than it is given',
    file: 'telemetry/queue.ts',
    from: "if ((await Promise.race([this.sending, over.promise])) === 'over') break;",
    to: 'await this.sending;',
    tests: ['test/telemetry/queue.test.ts'],
  },
];
