// What is at hand to be sent for the calls of one request, and what room does it take?

import { beforeEach, expect, test } from 'vitest';
import type { Conversation } from '../../../gateway/dialects/conversation.ts';
import type { Translation, UpstreamCall } from '../../../gateway/dialects/dialect.ts';
import { findDialect } from '../../../gateway/dialects/registry.ts';
import { openCall } from '../../../gateway/dialects/translate.ts';
import { RequestBody } from '../../../gateway/json/request-body.ts';
import { CallBodies } from '../../../gateway/pipeline/call-bodies.ts';
import type { Candidate } from '../../../gateway/route/plan.ts';
import { target } from '../dialects/properties/both-sides.ts';
import { conversationOf } from '../dialects/support/make-conversation.ts';
import { candidatesOf } from '../route/candidates.ts';

const request = new RequestBody([Buffer.from(`{"x":"${'x'.repeat(992)}"}`)]);
const [first, otherKey, elsewhere] = candidatesOf([{ keys: { a: 'of-a', b: 'of-b' } }, {}]) as [
  Candidate,
  Candidate,
  Candidate,
];

let bytesMax: number;
let taken: number;
let made: Conversation[];

beforeEach(() => {
  bytesMax = Number.POSITIVE_INFINITY;
  taken = 0;
  made = [];
});

const room = {
  mayCopy: (bytes: number) => taken + bytes <= bytesMax,
  addCopy(bytes: number) {
    if (taken + bytes > bytesMax) return false;
    taken += bytes;
    return true;
  },
  dropCopy(bytes: number) {
    taken -= bytes;
  },
};

function encode(conversation: Conversation): UpstreamCall {
  made.push(conversation);
  return openCall(findDialect('openai-chat'), conversation, target);
}

const asking = (text: string) =>
  conversationOf({ turns: [{ role: 'user', parts: [{ type: 'text', text }] }] });

function bodiesOf(conversations: readonly Conversation[]) {
  const translation: Translation = {
    conversations,
    encodeAnswer: () => Buffer.alloc(0),
    streamEncoder: () => {
      throw new Error('nobody answers');
    },
  };
  return new CallBodies({ body: request, room, translation });
}

test('equal calls share one body, which is kept until the last of them has ended', () => {
  const one = asking('x');
  const bodies = bodiesOf(Array.from({ length: 8 }, () => one));
  const sent = Array.from({ length: 8 }, (_, call) => {
    expect(bodies.begin(call)).toBe(true);
    return bodies.open(call, first, encode);
  });
  expect([new Set(sent).size, made.length, taken]).toEqual([1, 1, sent[0]?.body.length]);
  for (let call = 0; call < 7; call++) bodies.end(call);
  expect(taken).toBe(sent[0]?.body.length);
  bodies.end(7);
  expect(taken).toBe(0);
});

test('a retried call keeps its body for another key, and gets another body at another target', () => {
  const bodies = bodiesOf([asking('x')]);
  const sent = [first, otherKey, elsewhere].map((candidate) => bodies.open(0, candidate, encode));
  expect([sent[0] === sent[1], sent[1] === sent[2], made.length]).toEqual([true, false, 2]);
  expect(taken, 'the one before is gone').toBe(sent[2]?.body.length);
});

test('calls that begin count as the whole request until their body is known', () => {
  const bodies = bodiesOf([asking('x'), asking('y')]);
  bytesMax = 1_500;
  expect([bodies.begin(0), taken, bodies.begin(1)]).toEqual([true, 1_000, false]);
  const { length } = bodies.open(0, first, encode).body;
  expect([taken, bodies.begin(1), taken]).toEqual([length, true, length + 1_000]);
});

test('a call waits for room beside other calls; a single one is refused', () => {
  const bodies = bodiesOf([asking('x'.repeat(900)), asking('y'.repeat(900))]);
  bytesMax = 1_500;
  bodies.begin(0);
  bodies.open(0, first, encode);
  expect(bodies.begin(1)).toBe(false);
  bodies.end(0);
  expect([bodies.begin(1), bodies.open(1, first, encode).body.length === taken]).toEqual([true, true]);
  bodies.end(1);
  bytesMax = 500;
  const overloaded = expect.objectContaining({ code: 'overloaded', status: 503 });
  expect(() => bodies.begin(0)).toThrow(overloaded);
  expect(() => bodies.open(0, first, encode)).toThrow(overloaded);
  expect(taken).toBe(0);
});
