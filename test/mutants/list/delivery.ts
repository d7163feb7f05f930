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
    file: 'gateway/stream/taken-bytes.ts',
    from: 'if (isStalled && now - since >= stallMs) {',
    to: 'if (isStalled && now - since >= 1_000 * stallMs) {',
    tests: ['test/flow/slow-and-gone.test.ts'],
  },
  {
    name: 'a caller that takes a little is not given up',
    file: 'gateway/stream/taken-bytes.ts',
    from: 'if (!isStalled) since = now;',
    to: '',
    tests: ['test/gateway/stream/client-stream.test.ts'],
  },
  {
    name: 'a caller that has gone away ends the call upstream',
    file: 'gateway/pipeline.ts',
    from: 'this.caller.leave();\n      this.share.close();',
    to: 'this.share.close();',
    tests: ['test/flow/slow-and-gone.test.ts'],
  },
  {
    name: 'assured: nothing is handed out before the whole answer',
    file: 'gateway/attempt/commit-point.ts',
    from: "case 'whole':\n        return false;",
    to: "case 'whole':\n        return true;",
    tests: ['test/gateway/attempt/commit-point.test.ts', 'test/flow/delivery.test.ts'],
  },
  {
    name: 'assured: of several calls none is handed out before all of them',
    file: 'gateway/pipeline.ts',
    from: 'held ?? sink, encoder',
    to: 'sink, encoder',
    tests: ['test/flow/delivery.test.ts'],
  },
  {
    name: 'assured: a whole answer that a client could not use is not handed out',
    file: 'gateway/attempt/attempt.ts',
    from: 'commitPoint?.awaitsWhole ? stream.flaw?.() : undefined',
    to: 'undefined',
    tests: ['test/flow/delivery.test.ts'],
  },
  {
    name: 'assured: a caller may ask for it',
    file: 'gateway/pipeline/delivery.ts',
    from: "asksAssured(rawHeaders) || delivery === 'Assured'",
    to: "delivery === 'Assured'",
    tests: ['test/flow/delivery.test.ts'],
  },
  {
    name: 'the beginning is held back as long as the route says',
    file: 'gateway/attempt/commit-point.ts',
    from: 'return contentEvents >= (this.rule.events ?? Number.POSITIVE_INFINITY);',
    to: 'return true;',
    tests: ['test/gateway/attempt/commit-point.test.ts', 'test/flow/delivery.test.ts'],
  },
  {
    name: 'what is held is bounded: an answer that is longer goes out',
    file: 'gateway/attempt/commit-point.ts',
    from: 'this.contentBytes <= heldContentBytesMax',
    to: 'this.contentBytes <= 1e12',
    tests: ['test/gateway/attempt/commit-point.test.ts', 'test/flow/delivery.test.ts'],
  },
  {
    name: 'an answer that is fetched as a stream is asked for as one',
    file: 'gateway/dialects/request/target-edits.ts',
    from: 'if (target.forcesStream)',
    to: 'if (target.forcesStream && body.bytes < 0)',
    tests: ['test/flow/upstream-streaming.test.ts'],
  },
];
