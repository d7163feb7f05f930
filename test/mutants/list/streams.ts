// Which safeguards of streams, whole and broken, are noticed when they are gone?

import type { Mutant } from '../mutant.ts';

export const streams: readonly Mutant[] = [
  {
    name: 'terminal marker: a chat stream that passes through',
    file: 'gateway/dialects/openai/relay-stream.ts',
    from: "else this.facts.fault = { kind: 'truncated' };",
    to: 'else this.facts.isComplete = true;',
    tests: ['test/gateway/dialects/openai/cut-streams.test.ts'],
  },
  {
    name: 'terminal marker: a chat stream that is translated',
    file: 'gateway/dialects/openai/decode-answers.ts',
    from: "else this.facts.fault = { kind: 'truncated' };",
    to: 'else this.facts.isComplete = true;',
    tests: ['test/gateway/dialects/pitfalls/broken-streams.test.ts'],
  },
  {
    name: 'terminal marker: a messages stream that passes through',
    file: 'gateway/dialects/anthropic-messages/relay.ts',
    from: 'if (!this.hasStopReason) {',
    to: 'if (!this.hasStopReason && !this.facts.hasContent) {',
    tests: ['test/gateway/dialects/pass-through/relay-messages.test.ts'],
  },
  {
    name: 'terminal marker: a messages stream that is translated',
    file: 'gateway/dialects/anthropic-messages/decode-stream.ts',
    from: "else this.facts.fault = { kind: 'truncated' };",
    to: 'else this.finish();',
    tests: ['test/gateway/dialects/anthropic-messages/decode-stream.test.ts'],
  },
  {
    name: 'terminal marker: a responses stream that passes through',
    file: 'gateway/dialects/openai-responses/relay.ts',
    from: "this.facts.fault = { kind: 'truncated' };",
    to: 'this.facts.isComplete = true;',
    tests: ['test/gateway/dialects/pass-through/relay-responses.test.ts'],
  },
  {
    name: 'terminal marker: a responses stream that is translated',
    file: 'gateway/dialects/openai-responses/decode-stream.ts',
    from: ": { kind: 'truncated' };",
    to: ': undefined;\n      this.facts.isComplete ||= this.facts.fault === undefined;',
    tests: ['test/gateway/dialects/openai-responses/decode-stream.test.ts'],
  },
  {
    name: 'a broken answer does not end as a whole one: the last chunk is missing',
    file: 'gateway/stream/client-stream.ts',
    from: 'this.response.write(frame, () => {\n      socket?.end();',
    to: 'this.response.end(frame, () => {\n      socket?.end();',
    tests: ['test/flow/cut-streams.test.ts'],
  },
  {
    name: 'company for a caller that waits is never put inside an event',
    file: 'gateway/dialects/events/event-relay.ts',
    from: 'this.tail = Buffer.from(bytes.subarray(start));',
    to: 'output.keep(start, bytes.length);',
    tests: ['test/flow/slow-and-gone.test.ts'],
  },
];
