// Which safeguards of what a caller is handed, and when, are noticed when they are gone?

import type { Mutant } from '../mutant.ts';

export const delivery: readonly Mutant[] = [
  {
    name: 'the commit point: nothing is handed out before the first content',
    file: 'gateway/attempt/commit-point.ts',
    from: 'if (!progress.hasContent) return true;',
    to: '',
    tests: ['test/gateway/attempt/commit-point.test.ts'],
    isQuick: true,
  },
  {
    name: 'the commit point: behind it nobody takes over',
    file: 'gateway/attempt/attempt.ts',
    from: "outcome: isCommitted ? 'broken-off' : 'failed',",
    to: "outcome: 'failed',",
    tests: ['test/gateway/attempt/attempt.test.ts'],
  },
  {
    name: 'back-pressure: a caller that does not read stops the upstream',
    file: 'gateway/attempt/attempt.ts',
    from: 'if (commitPoint?.take(bytes, progress) === false) this.pause();',
    to: 'commitPoint?.take(bytes, progress);',
    tests: ['test/gateway/attempt/attempt.test.ts', 'test/flow/slow-and-gone.test.ts'],
  },
  {
    name: 'a caller that takes nothing for too long is given up',
    file: 'gateway/stream/client-stream.ts',
    from: 'return this.fullSince + writeStallMs;',
    to: 'return this.fullSince + 1_000 * writeStallMs;',
    tests: ['test/flow/slow-and-gone.test.ts'],
  },
  {
    name: 'a caller that has gone away ends the call upstream',
    file: 'gateway/pipeline.ts',
    from: "exchange.response.once('close', () => this.caller.leave());",
    to: '',
    tests: ['test/flow/slow-and-gone.test.ts'],
  },
];
