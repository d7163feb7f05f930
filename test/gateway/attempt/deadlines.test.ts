// When is an upstream too slow?

import { expect, test } from 'vitest';
import {
  type Deadline,
  earliestDeadline,
  type Limits,
  type Marks,
} from '../../../gateway/attempt/deadlines.ts';

const limits: Limits = {
  firstEventMs: 12_000,
  livenessMs: 30_000,
  progressMs: 120_000,
  totalMs: 600_000,
};
const marks: Marks = {
  startedAt: 1_000,
  lastByteAt: 1_000,
  lastContentAt: 1_000,
  hasContent: false,
  awaitsEnd: false,
  isPaused: false,
  totalAt: 601_000,
};

test.each([
  ['nothing has come', {}, {}, { at: 13_000, timer: 'first-event' }],
  ['bytes without content do not help', { lastByteAt: 12_000 }, {}, { at: 13_000, timer: 'first-event' }],
  ['after content it must stay alive', { hasContent: true }, {}, { at: 31_000, timer: 'liveness' }],
  [
    'pings keep it alive, not for ever',
    { hasContent: true, lastByteAt: 110_000 },
    {},
    { at: 121_000, timer: 'progress' },
  ],
  [
    'content is both',
    { hasContent: true, lastByteAt: 110_000, lastContentAt: 110_000 },
    {},
    { at: 140_000, timer: 'liveness' },
  ],
  ['the whole request ends before', { totalAt: 9_000 }, {}, { at: 9_000, timer: 'total' }],
  ['the time of the attempt is over before', {}, { totalMs: 8_000 }, { at: 9_000, timer: 'total' }],
  [
    'all but the end mark is there',
    { hasContent: true, awaitsEnd: true, lastByteAt: 20_000, lastContentAt: 20_000 },
    {},
    { at: 25_000, timer: 'liveness' },
  ],
  [
    'all but the end mark is there, and pings go on',
    { hasContent: true, awaitsEnd: true, lastByteAt: 29_000, lastContentAt: 20_000 },
    {},
    { at: 30_000, timer: 'progress' },
  ],
  [
    'an upstream that is given less time gets no more for its end mark',
    { hasContent: true, awaitsEnd: true },
    { livenessMs: 1_000 },
    { at: 2_000, timer: 'liveness' },
  ],
  [
    'an answer without content, but for its end mark',
    { awaitsEnd: true, lastByteAt: 2_000 },
    {},
    { at: 7_000, timer: 'liveness' },
  ],
  [
    'the whole request ends before, with content',
    { hasContent: true, totalAt: 9_000 },
    {},
    { at: 9_000, timer: 'total' },
  ],
  [
    'a slow reader is not the fault of the upstream',
    { hasContent: true, isPaused: true },
    {},
    { at: 601_000, timer: 'total' },
  ],
  ['a plain answer comes when it is done', {}, { firstEventMs: null }, { at: 601_000, timer: 'total' }],
] satisfies [string, Partial<Marks>, Partial<Limits>, Deadline][])('%s', (_name, mark, limit, deadline) => {
  expect(earliestDeadline({ ...marks, ...mark }, { ...limits, ...limit })).toEqual(deadline);
});
