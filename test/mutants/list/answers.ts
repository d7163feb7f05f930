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
  {
    name: 'an answer does not hold values without end',
    file: 'gateway/dialects/answer/read-answer.ts',
    from: 'if (flaw !== undefined) return malformed(flaw);',
    to: '',
    tests: ['test/gateway/dialects/answer/read-answer.test.ts'],
  },
  {
    name: 'an answer is not larger than a request may be',
    file: 'gateway/attempt/attempt.ts',
    from: '} else if (this.body.length > plainBytesMax)',
    to: '} else if (this.body.length < 0)',
    tests: ['test/gateway/attempt/attempt.test.ts'],
  },
  {
    name: 'answers of a process have a bound together',
    file: 'gateway/stream/answer-room.ts',
    from: 'bytes <= 0 || this.bytes <= this.bytesMax || this.bytes === held',
    to: 'true',
    tests: ['test/gateway/endpoints/answer-room.test.ts'],
  },
  {
    name: 'one answer alone has room',
    file: 'gateway/stream/answer-room.ts',
    from: ' || this.bytes === held',
    to: '',
    tests: ['test/gateway/endpoints/answer-room.test.ts'],
  },
  {
    name: 'what is held without content counts',
    file: 'gateway/attempt/commit-point.ts',
    from: 'this.toldBytes += bytes.length;',
    to: 'this.toldBytes += progress.hasContent ? bytes.length : 0;',
    tests: ['test/gateway/attempt/commit-point.test.ts'],
  },
  {
    name: 'a failure of ours while an answer is read ends its attempt',
    file: 'gateway/attempt/attempt.ts',
    from: "this.fail({ kind: 'gateway', code: 'internal_error', error });",
    to: 'throw error;',
    tests: ['test/gateway/attempt/attempt.test.ts'],
  },
  {
    name: 'no attempt begins that is never ended',
    file: 'gateway/attempt/run-attempts.ts',
    from: 'const ends = job.open(candidate, isFresh);',
    to: 'job.onStart(candidate, false);\n    const ends = job.open(candidate, isFresh);',
    tests: ['test/gateway/attempt/run-attempts.test.ts'],
  },
  {
    name: 'a failure of ours in mid-stream is logged',
    file: 'gateway/pipeline.ts',
    from: 'if (!(error instanceof GatewayError)) parts.onFailure(error, requestId);',
    to: '',
    tests: ['test/gateway/endpoints/answer-room.test.ts'],
  },
  {
    name: "a key that an upstream repeats in an error's details is taken out",
    file: 'gateway/attempt/attempt.ts',
    from: "if (typeof value === 'string') return redact(value);",
    to: "if (typeof value === 'string') return value;",
    tests: ['test/gateway/attempt/attempt.test.ts'],
  },
  {
    name: 'a member called as the prototype of every object is a member',
    file: 'gateway/dialects/anthropic-messages/output-schema.ts',
    from: 'return Object.fromEntries(kept);',
    to: 'return Object.assign({}, ...[...kept].map(([name, value]) => ({ [name]: value })));',
    tests: ['test/gateway/dialects/anthropic-messages/output-schema.test.ts'],
  },
];
