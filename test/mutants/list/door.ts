// Which safeguards of the door, of the load that it lets in and of the end of a process are noticed when they are gone?

import type { Mutant } from '../mutant.ts';

export const door: readonly Mutant[] = [
  {
    name: 'a body does not nest without end',
    file: 'gateway/json/scan-members.ts',
    from: 'if (depth >= this.limits.depthMax) {',
    to: 'if (depth < 0) {',
    tests: ['test/gateway/json/scan-members.test.ts'],
  },
  {
    name: 'a body does not hold values without end',
    file: 'gateway/json/scan-members.ts',
    from: 'if (this.tokens > this.tokensMax) {',
    to: 'if (this.tokens < 0) {',
    tests: ['test/gateway/json/scan-members.test.ts'],
  },
  {
    name: 'a body above the limit is refused while it comes',
    file: 'gateway/endpoints/read-body.ts',
    from: 'const isTooLarge = bytes > requestBytesMax;',
    to: 'const isTooLarge = bytes < 0;',
    tests: ['test/gateway/endpoints/bad-bodies.test.ts'],
  },
  {
    name: 'a slow sender is not waited for without end',
    file: 'gateway/server.ts',
    from: 'requestTimeout: patience.requestMs,',
    to: 'requestTimeout: 0,',
    tests: ['test/gateway/endpoints/slow-senders.test.ts'],
  },
  {
    name: 'drain: not ready at once, and answers ask their connections to close',
    file: 'gateway/start.ts',
    from: 'async drain() {\n      isDraining = true;',
    to: 'async drain() {',
    tests: ['test/flow/drain.test.ts'],
  },
  {
    name: 'drain: accepting goes on until every load balancer has heard of it',
    file: 'gateway/start.ts',
    from: 'await wait(options.drainAcceptMs);',
    to: '',
    tests: ['test/flow/drain.test.ts', 'test/flow/rolling-restart/nobody-notices.test.ts'],
  },
  {
    name: 'drain: a stream is given its time',
    file: 'gateway/start.ts',
    from: 'await Promise.race([streams.empty(), over]);\n      // Who',
    to: '// Who',
    tests: ['test/flow/drain.test.ts'],
  },
  {
    name: 'drain: the journal is written before the process ends',
    file: 'gateway/start.ts',
    from: 'await journal.close();',
    to: '',
    tests: ['test/gateway/process/signals.test.ts'],
  },
];
