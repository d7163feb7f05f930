// Which safeguards against what upstreams answer are noticed when they are gone?

import type { Mutant } from '../mutant.ts';

export const answers: readonly Mutant[] = [
  {
    name: 'an event that comes byte by byte is looked at once',
    file: 'gateway/dialects/events/event-relay.ts',
    from: 'if (!this.isAtStart && !this.endsEvent(text)) {',
    to: "if (!this.isAtStart && text === '') {",
    tests: ['test/security/hostile-streams.test.ts'],
  },
  {
    name: 'a blank line ends an event also where it comes in two halves',
    file: 'gateway/dialects/events/event-relay.ts',
    from: "(this.tailEndsLine && text.startsWith('\\n')) ||",
    to: '',
    tests: ['test/security/hostile-streams.test.ts'],
  },
  {
    name: 'an encoding that nobody knows says nothing',
    file: 'gateway/attempt/plain-body.ts',
    from: 'if (!decode) return Buffer.alloc(0);',
    to: 'if (!decode) return body;',
    tests: ['test/gateway/attempt/plain-body.test.ts'],
  },
];
