// After a failure: which candidate is next, after how long, or is it enough?

import { describe, expect, test } from 'vitest';
import type { RouteEntry } from '../../../core/contract/routing-table.ts';
import { type AttemptFailure, failureCode, judgeFailure } from '../../../gateway/attempt/failure.ts';
import { type CandidateFacts, type NextStep, nextStep } from '../../../gateway/attempt/next-step.ts';

// Three keys of provider a, then provider b, then a second model of provider b: each target a tier of its own.
const a1: CandidateFacts = { keyId: 'a/1', targetId: 'ta', endpointId: 'a', tier: 0 };
const a2: CandidateFacts = { keyId: 'a/2', targetId: 'ta', endpointId: 'a', tier: 0 };
const a3: CandidateFacts = { keyId: 'a/3', targetId: 'ta', endpointId: 'a', tier: 0 };
/** Another target at the same provider. */
const aOther1: CandidateFacts = { ...a1, targetId: 'ta2' };
const aOther3: CandidateFacts = { ...a3, targetId: 'ta2' };
const b: CandidateFacts = { keyId: 'b/1', targetId: 'tb', endpointId: 'b', tier: 1 };
const bOther: CandidateFacts = { keyId: 'b/1', targetId: 'tb2', endpointId: 'b', tier: 2 };
const c: CandidateFacts = { keyId: 'c/1', targetId: 'tc', endpointId: 'c', tier: 3 };
/** Beside the first, not behind it. */
const peer: CandidateFacts = { keyId: 'p/1', targetId: 'tp', endpointId: 'p', tier: 0 };
const holding = (contextLength: number | undefined, facts: CandidateFacts): CandidateFacts => ({
  ...facts,
  contextLength,
});

const failover: RouteEntry['failover'] = {
  retryOn: [
    'ConnectFailure',
    'Timeout',
    'RateLimited',
    'ServerError',
    'Overloaded',
    'AuthFailure',
    'ModelNotFound',
    'ContextLengthExceeded',
  ],
  maxAttempts: 3,
  attemptsPerTarget: 1,
  backoffBaseMs: 100,
  backoffMaxMs: 300,
  honorRetryAfter: true,
};

const tooLong: AttemptFailure = {
  kind: 'status',
  status: 400,
  error: { message: '', type: null, code: 'context_length_exceeded', param: null, status: null },
  retryAfterMs: undefined,
};
const noWords = { message: '', type: null, code: null, param: null, status: null };
const status = (code: number, retryAfterMs?: number): AttemptFailure => ({
  kind: 'status',
  status: code,
  error: noWords,
  retryAfterMs,
});
const unknownModel: AttemptFailure = {
  kind: 'status',
  status: 404,
  error: { ...noWords, code: 'model_not_found' },
  retryAfterMs: undefined,
};
const refused: AttemptFailure = { kind: 'transport', code: 'connect_refused', detail: '' };
const blackhole: AttemptFailure = { kind: 'transport', code: 'connect_timeout', detail: '' };
const silent: AttemptFailure = { kind: 'timeout', timer: 'first-event' };
const reset: AttemptFailure = { kind: 'transport', code: 'reset', detail: '' };
const garbage: AttemptFailure = { kind: 'answer', fault: { kind: 'malformed', detail: '' } };

interface Row {
  readonly when: string;
  readonly candidates: readonly CandidateFacts[];
  /** Position and failure of each attempt so far. */
  readonly failed: readonly (readonly [candidate: number, failure: AttemptFailure])[];
  readonly unusable?: readonly number[];
  /** Not usable, though the breaker is closed: the key is in cooldown. */
  readonly coolingDown?: readonly number[];
  /** Usable, but only as a trial. */
  readonly halfOpen?: readonly number[];
  readonly hasNoBudget?: boolean;
  readonly hasSideEffects?: boolean;
  readonly lastResort?: number;
  /** Milliseconds that the key of each position still cools. */
  readonly cooling?: Readonly<Record<number, number>>;
  readonly waitedMs?: number;
  readonly failover?: Partial<RouteEntry['failover']>;
  readonly remainingMs?: number;
  readonly random?: number;
  readonly step: NextStep;
}

const giveUp: NextStep = { type: 'give-up' };
const go = (candidate: number, delayMs = 0): NextStep => ({ type: 'try', candidate, delayMs });

const rows: readonly Row[] = [
  { when: 'nothing was tried', candidates: [a1, b], failed: [], step: go(0) },
  { when: 'the first is out of service', candidates: [a1, b], failed: [], unusable: [0], step: go(1) },
  { when: 'all are out of service', candidates: [a1, b], failed: [], unusable: [0, 1], step: giveUp },
  {
    when: 'all are out of service: the last resort',
    candidates: [a1, b],
    failed: [],
    unusable: [0, 1],
    lastResort: 1,
    step: go(1),
  },
  {
    when: 'all are out of service by now: no last resort behind an attempt',
    candidates: [a1, b],
    failed: [[0, status(503)]],
    unusable: [0, 1],
    lastResort: 1,
    step: giveUp,
  },
  { when: 'there is no candidate', candidates: [], failed: [], step: giveUp },

  { when: 'a key is limited: another key', candidates: [a1, a2, b], failed: [[0, status(429)]], step: go(1) },
  {
    when: 'a key is rejected: another key',
    candidates: [a1, a2, b],
    failed: [[0, status(401)]],
    step: go(1),
  },
  { when: 'a key is broke: another key', candidates: [a1, a2, b], failed: [[0, status(402)]], step: go(1) },
  // A second call at once, before a lower tier serves the request.
  ...[500, 502, 504, 408, 409, 421, 425]
    .map((code) => status(code))
    .concat(refused, reset)
    .map(
      (failure): Row => ({
        when: `${failure.kind === 'status' ? failure.status : failure.kind === 'transport' ? failure.code : ''}: the same at once`,
        candidates: [a1, a2, b],
        failed: [[0, failure]],
        step: go(0),
      }),
    ),
  {
    when: 'the same failed again: the next tier',
    candidates: [a1, a2, b],
    failed: [
      [0, status(500)],
      [0, status(500)],
    ],
    step: go(2),
  },
  {
    when: 'two others are left: each of the three gets its one call',
    candidates: [a1, b, c],
    failed: [[0, status(500)]],
    step: go(1),
  },
  {
    when: 'two others are left, and there are attempts enough',
    candidates: [a1, b, c],
    failed: [[0, status(500)]],
    failover: { maxAttempts: 4 },
    step: go(0),
  },
  {
    when: 'two attempts are all there is: the other gets the second',
    candidates: [a1, b],
    failed: [[0, status(500)]],
    failover: { maxAttempts: 2 },
    step: go(1),
  },
  { when: 'it is not alone in its tier', candidates: [a1, peer], failed: [[0, status(500)]], step: go(1) },
  {
    when: 'its peer is out of service: it is alone',
    candidates: [a1, peer, b],
    failed: [[0, status(500)]],
    unusable: [1],
    step: go(0),
  },
  {
    when: 'it was a trial',
    candidates: [a1, b],
    failed: [[0, refused]],
    halfOpen: [0],
    step: go(1),
  },
  {
    when: 'its circuit has opened: the next tier',
    candidates: [a1, b],
    failed: [[0, status(500)]],
    unusable: [0],
    step: go(1),
  },
  {
    when: 'its retry budget is used up: the next tier',
    candidates: [a1, b],
    failed: [[0, status(500)]],
    hasNoBudget: true,
    step: go(1),
  },
  {
    when: 'alone, and its retry budget is used up: enough',
    candidates: [a1],
    failed: [[0, status(500)]],
    hasNoBudget: true,
    step: giveUp,
  },
  {
    when: 'it asks for a moment: that is waited out before a lower tier serves',
    candidates: [a1, b],
    failed: [[0, status(429, 2_500)]],
    coolingDown: [0],
    step: go(0, 2_500),
  },
  {
    when: 'it asks for a moment, and its circuit has opened: the next tier',
    candidates: [a1, b],
    failed: [[0, status(429, 2_500)]],
    unusable: [0],
    step: go(1),
  },
  {
    when: 'it asks for more than a moment, and a lower tier can serve: that one',
    candidates: [a1, b],
    failed: [[0, status(429, 2_501)]],
    step: go(1),
  },
  {
    when: 'it asks for a moment, and a peer can serve: that one',
    candidates: [a1, peer, b],
    failed: [[0, status(429, 10)]],
    step: go(1),
  },
  {
    when: 'it asks for a moment again: the next tier',
    candidates: [a1, b],
    failed: [
      [0, status(429, 10)],
      [0, status(429, 10)],
    ],
    step: go(1),
  },
  {
    when: 'it asks for a moment, but the route does not wait: the next tier',
    candidates: [a1, b],
    failed: [[0, status(429, 10)]],
    failover: { honorRetryAfter: false },
    step: go(1),
  },

  // What more than answers.
  ...[status(500), reset, silent, garbage, status(409)].map(
    (failure): Row => ({
      when: `${failure.kind} may have been acted on: nobody else is asked`,
      candidates: [a1, b],
      failed: [[0, failure]],
      hasSideEffects: true,
      step: giveUp,
    }),
  ),
  ...[status(429), status(503), status(401), blackhole].map(
    (failure): Row => ({
      when: `${failure.kind === 'status' ? failure.status : 'no connection'} was not acted on: the next`,
      candidates: [a1, b],
      failed: [[0, failure]],
      hasSideEffects: true,
      step: go(1),
    }),
  ),

  // A prompt that is too long goes to larger models only.
  ...[
    { windows: [8_000, 8_000, 128_000], next: 2 },
    { windows: [8_000, undefined, 128_000], next: 1 },
    { windows: [undefined, 4_000, 128_000], next: 1 },
    { windows: [8_000, 4_000, 8_000], next: undefined },
  ].map(
    ({ windows: [ofA, ofB, ofC], next }): Row => ({
      when: `too long for ${ofA ?? 'who knows what'}, with ${ofB ?? 'who knows what'} and ${ofC} left`,
      candidates: [holding(ofA, a1), holding(ofB, b), holding(ofC, c)],
      failed: [[0, tooLong]],
      failover: { retryOn: ['ContextLengthExceeded'] },
      step: next === undefined ? giveUp : go(next),
    }),
  ),
  { when: 'a target is overloaded', candidates: [a1, a2, b], failed: [[0, status(503)]], step: go(2) },
  { when: 'a target is silent', candidates: [a1, a2, b], failed: [[0, silent]], step: go(2) },
  { when: 'a target talks nonsense', candidates: [a1, a2, b], failed: [[0, garbage]], step: go(2) },
  {
    when: 'an endpoint is dead: its models too',
    candidates: [b, bOther, a1],
    failed: [
      [0, refused],
      [0, refused],
    ],
    step: go(2),
  },
  {
    when: 'what is in front of an endpoint wants to be signed in to (407): its models wait, too',
    candidates: [b, bOther, a1],
    failed: [[0, status(407)]],
    step: go(2),
  },
  ...[405, 410].map(
    (code): Row => ({
      when: `${code}: another target, never the same`,
      candidates: [a1, a2, b],
      failed: [[0, status(code)]],
      step: go(2),
    }),
  ),
  {
    when: 'one model fails: another there',
    candidates: [b, bOther, a1],
    failed: [[0, status(500)]],
    step: go(1),
  },
  {
    when: 'one key serves two models, and is limited for one: the other',
    candidates: [b, bOther, a1],
    failed: [[0, status(429)]],
    step: go(1),
  },
  {
    when: 'the next one is out of service: the one behind it',
    candidates: [a1, a2, b],
    failed: [[0, status(429)]],
    unusable: [0, 1],
    step: go(2),
  },
  {
    when: 'blame adds up',
    candidates: [a1, a2, b],
    failed: [
      [0, status(429)],
      [1, status(500)],
    ],
    step: go(2),
  },

  { when: 'alone and 500: once more', candidates: [a1], failed: [[0, status(500)]], step: go(0, 100) },
  { when: 'the longest wait', candidates: [a1], failed: [[0, status(502)]], random: 1, step: go(0, 400) },
  { when: 'alone and refused: once more', candidates: [a1], failed: [[0, refused]], step: go(0, 100) },
  {
    when: 'alone and 500 twice: enough',
    candidates: [a1],
    failed: [
      [0, status(500)],
      [0, status(500)],
    ],
    step: giveUp,
  },
  {
    when: 'its circuit has opened: not even once more',
    candidates: [a1],
    failed: [[0, status(500)]],
    unusable: [0],
    step: giveUp,
  },
  // As SDKs do it: half a second, then a second, each with jitter; or as long as is asked for.
  ...[503, 529].flatMap((code): Row[] => [
    { when: `alone and ${code}: once more`, candidates: [a1], failed: [[0, status(code)]], step: go(0, 250) },
    {
      when: `alone and ${code}: the longest wait`,
      candidates: [a1],
      failed: [[0, status(code)]],
      random: 1,
      step: go(0, 500),
    },
    {
      when: `alone and ${code} again: a third time`,
      candidates: [a1],
      failed: [
        [0, status(code)],
        [0, status(code)],
      ],
      step: go(0, 500),
    },
    {
      when: `alone and ${code} three times: enough, whatever the route allows`,
      candidates: [a1],
      failed: [
        [0, status(code)],
        [0, status(code)],
        [0, status(code)],
      ],
      failover: { maxAttempts: 9 },
      step: giveUp,
    },
  ]),
  {
    when: 'alone and overloaded, with a wait: that one',
    candidates: [a1],
    failed: [[0, status(503, 8_000)]],
    step: go(0, 8_000),
  },
  {
    when: 'alone and overloaded, for no time: half a second',
    candidates: [a1],
    failed: [[0, status(503, 0)]],
    step: go(0, 250),
  },
  {
    when: 'alone and overloaded for longer than clients wait: enough',
    candidates: [a1],
    failed: [[0, status(503, 8_001)]],
    step: giveUp,
  },
  {
    when: 'alone and overloaded, and the route honours no Retry-After: half a second',
    candidates: [a1],
    failed: [[0, status(503, 60_000)]],
    failover: { honorRetryAfter: false },
    step: go(0, 250),
  },
  {
    when: 'alone and overloaded, and the wait would end behind the deadline: enough',
    candidates: [a1],
    failed: [[0, status(503)]],
    remainingMs: 250,
    step: giveUp,
  },
  {
    when: 'alone and overloaded, and its retry budget is used up: enough',
    candidates: [a1],
    failed: [[0, status(503)]],
    hasNoBudget: true,
    step: giveUp,
  },
  {
    when: 'alone and overloaded, and its circuit has opened: enough',
    candidates: [a1],
    failed: [[0, status(503)]],
    unusable: [0],
    step: giveUp,
  },
  {
    when: 'the last of two is overloaded: once more, as there is one attempt left',
    candidates: [a1, b],
    failed: [
      [0, status(500)],
      [1, status(503)],
    ],
    step: go(1, 250),
  },

  // A key that cools for a moment is waited for before the first attempt.
  {
    when: 'the only key cools for two seconds',
    candidates: [a1],
    failed: [],
    coolingDown: [0],
    cooling: { 0: 2_000 },
    step: go(0, 2_000),
  },
  {
    when: 'the only key cools for longer',
    candidates: [a1],
    failed: [],
    coolingDown: [0],
    cooling: { 0: 2_001 },
    step: giveUp,
  },
  {
    when: 'all keys cool: the one that is back first',
    candidates: [a1, b],
    failed: [],
    coolingDown: [0, 1],
    cooling: { 0: 1_500, 1: 900 },
    step: go(1, 900),
  },
  {
    when: 'another key can serve',
    candidates: [a1, b],
    failed: [],
    coolingDown: [0],
    cooling: { 0: 10 },
    step: go(1),
  },
  {
    when: 'a key that cools is better than one whose breaker is open',
    candidates: [a1, b],
    failed: [],
    unusable: [1],
    coolingDown: [0],
    cooling: { 0: 10 },
    lastResort: 1,
    step: go(0, 10),
  },
  {
    when: 'its trial is waited for too',
    candidates: [a1],
    failed: [],
    coolingDown: [0],
    cooling: { 0: 200 },
    waitedMs: 3_800,
    step: go(0, 200),
  },
  {
    when: 'nobody waits for ever',
    candidates: [a1],
    failed: [],
    coolingDown: [0],
    cooling: { 0: 200 },
    waitedMs: 3_801,
    step: giveUp,
  },
  {
    when: 'the only key cools beyond the deadline',
    candidates: [a1],
    failed: [],
    coolingDown: [0],
    cooling: { 0: 500 },
    remainingMs: 500,
    step: giveUp,
  },
  { when: 'alone and silent: never again', candidates: [a1], failed: [[0, silent]], step: giveUp },
  { when: 'alone and unreachable in time', candidates: [a1], failed: [[0, blackhole]], step: giveUp },
  { when: 'alone and nonsense', candidates: [a1], failed: [[0, garbage]], step: giveUp },
  { when: 'alone and rejected', candidates: [a1], failed: [[0, status(401)]], step: giveUp },
  {
    when: 'the last of two once more, where it was not the silent one',
    candidates: [a1, b],
    failed: [
      [0, silent],
      [1, status(500)],
    ],
    step: go(1, 100),
  },
  {
    when: 'the last of two was silent',
    candidates: [a1, b],
    failed: [
      [0, status(500)],
      [1, silent],
    ],
    step: giveUp,
  },

  // The key is in cooldown then, so that it is not usable; its wait is exactly that cooldown.
  {
    when: 'alone and limited for two seconds and a half: waited for',
    candidates: [a1],
    failed: [[0, status(429, 2_500)]],
    unusable: [0],
    step: go(0, 2_500),
  },
  { when: 'alone and limited for longer', candidates: [a1], failed: [[0, status(429, 2_501)]], step: giveUp },
  { when: 'alone and limited, no time said', candidates: [a1], failed: [[0, status(429)]], step: giveUp },
  {
    when: 'Retry-After is not honoured on this route',
    candidates: [a1],
    failed: [[0, status(429, 10)]],
    failover: { honorRetryAfter: false },
    step: giveUp,
  },
  {
    when: 'the wait would end behind the deadline',
    candidates: [a1],
    failed: [[0, status(429, 1_000)]],
    remainingMs: 1_000,
    step: giveUp,
  },
  {
    when: 'alone and limited twice: enough',
    candidates: [a1],
    failed: [
      [0, status(429, 10)],
      [0, status(429, 10)],
    ],
    step: giveUp,
  },

  ...[400, 413, 422, 451].map(
    (code): Row => ({
      when: `${code}: nobody else is asked`,
      candidates: [a1, a2, b],
      failed: [[0, status(code)]],
      step: giveUp,
    }),
  ),
  {
    when: '404: another target, not another key of the same',
    candidates: [a1, a2, b],
    failed: [[0, unknownModel]],
    step: go(2),
  },
  ...[status(401), status(402), status(403), status(429)].map(
    (failure): Row => ({
      when: `${failureCode(failure)} with two keys of one target, and one attempt is left: a target that was not asked`,
      candidates: [a1, a2, a3, b],
      failed: [
        [0, failure],
        [1, failure],
      ],
      step: go(3),
    }),
  ),
  ...[status(401), status(402), status(403), status(429)].map(
    (failure): Row => ({
      when: `${failureCode(failure)} with two keys of one target, whose provider has another: a provider that was not asked`,
      candidates: [a1, a2, a3, aOther3, b],
      failed: [
        [0, failure],
        [1, failure],
      ],
      step: go(4),
    }),
  ),
  {
    when: 'the same with nobody else left: the other target, with a key that was not asked',
    candidates: [a1, a2, a3, aOther1, aOther3],
    failed: [
      [0, status(401)],
      [1, status(401)],
    ],
    step: go(4),
  },
  {
    when: 'two models of one provider fail, and one attempt is left: its next model, as nothing is said against the provider',
    candidates: [b, bOther, { ...bOther, targetId: 'tb3' }, c],
    failed: [
      [0, status(503)],
      [1, status(503)],
    ],
    step: go(2),
  },
  {
    when: 'two keys of one target are rejected, and attempts are left: the next key',
    candidates: [a1, a2, a3, b],
    failed: [
      [0, status(401)],
      [1, status(401)],
    ],
    failover: { maxAttempts: 4 },
    step: go(2),
  },
  {
    when: 'two keys of the only target are rejected: the next key',
    candidates: [a1, a2, a3],
    failed: [
      [0, status(401)],
      [1, status(401)],
    ],
    step: go(2),
  },
  {
    when: '404, and the route does not move on from it',
    candidates: [a1, b],
    failed: [[0, unknownModel]],
    failover: { retryOn: ['ServerError'] },
    step: giveUp,
  },
  {
    when: 'a reason that the route does not move on from',
    candidates: [a1, b],
    failed: [[0, status(500)]],
    failover: { retryOn: ['RateLimited'] },
    step: giveUp,
  },

  {
    when: 'three attempts were made',
    candidates: [a1, b, bOther],
    failed: [
      [0, status(503)],
      [1, status(503)],
      [2, status(503)],
    ],
    step: giveUp,
  },
  {
    when: 'one attempt is all that the route wants',
    candidates: [a1, b],
    failed: [[0, status(503)]],
    failover: { maxAttempts: 1 },
    step: giveUp,
  },
  { when: 'no time is left', candidates: [a1, b], failed: [[0, status(503)]], remainingMs: 0, step: giveUp },

  {
    when: 'two tries a target: the same first, after a backoff',
    candidates: [a1, b],
    failed: [[0, status(500)]],
    failover: { attemptsPerTarget: 2 },
    step: go(0, 50),
  },
  {
    when: 'two tries a target, both used: the next',
    candidates: [a1, b],
    failed: [
      [0, status(500)],
      [0, status(500)],
    ],
    failover: { attemptsPerTarget: 2 },
    step: go(1),
  },
  {
    when: 'two tries a target, but it was silent: the next',
    candidates: [a1, b],
    failed: [[0, silent]],
    failover: { attemptsPerTarget: 2 },
    step: go(1),
  },
  {
    when: 'two tries a target, but its circuit has opened: the next',
    candidates: [a1, b],
    failed: [[0, status(500)]],
    unusable: [0],
    failover: { attemptsPerTarget: 2 },
    step: go(1),
  },
  {
    when: 'the backoff grows up to its bound',
    candidates: [a1, b],
    failed: [
      [0, status(500)],
      [0, status(500)],
      [0, status(500)],
    ],
    failover: { attemptsPerTarget: 4, maxAttempts: 9 },
    random: 1,
    step: go(0, 300),
  },
];

describe('the next step', () => {
  test.each(rows)('$when', (row) => {
    const {
      candidates,
      failed,
      unusable = [],
      coolingDown = [],
      halfOpen = [],
      random = 0,
      remainingMs = 60_000,
      step,
    } = row;
    expect(
      nextStep({
        candidates,
        isUsable: (candidate) => !unusable.includes(candidate) && !coolingDown.includes(candidate),
        isClosed: (candidate) => !unusable.includes(candidate) && !halfOpen.includes(candidate),
        hasRetryBudget: () => row.hasNoBudget !== true,
        lastResort: () => row.lastResort,
        coolsForMs: (candidate) => row.cooling?.[candidate],
        waitedMs: row.waitedMs ?? 0,
        hasSideEffects: () => row.hasSideEffects === true,
        failed: failed.map(([candidate, failure]) => ({
          candidate,
          judgement: judgeFailure(failure),
          retryAfterMs: failure.kind === 'status' ? failure.retryAfterMs : undefined,
        })),
        failover: { ...failover, ...row.failover },
        remainingMs,
        random: () => random,
      }),
    ).toEqual(step);
  });
});
