// In which sixteen shapes does a provider fail, and what must become of a request then? The table of a public benchmark
// of failover, in our words: what the first provider does, what is required, what is only better, and the limit.

import type { Behaviour, Call } from '../support/wall.ts';
import { sixtyWords } from '../support/wall.ts';
import { type AskedOnce, type Check, healthy, type Shape, type Timing } from './shapes/shape.ts';

const answers = (timing: Timing): Behaviour => ({ type: 'answer', ...healthy(timing) });
const status = (code: number, more: object = {}): Behaviour => ({ type: 'status', status: code, ...more });
const refusal = (code: string): Behaviour =>
  status(400, { error: { type: 'invalid_request_error', code, message: `The wall says ${code}` } });

const check = (what: string, holds: Check['holds']): Check => ({ what, holds });

const noCutSuccess = check('no cut answer as success', ({ asked }) =>
  asked.every(({ result }) => result !== 'cut'),
);
const inTime = check('ends in time', ({ asked }) => asked.every(({ result }) => result !== 'hang'));
const isWhole = check('the whole answer arrives', ({ asked }) =>
  asked.every(({ result }) => result === 'whole'),
);
const healthyAfterwards = check('healthy afterwards', ({ isHealthyAfter }) => isHealthyAfter);
const oneCall = check('exactly one call', ({ firstCalls }) => firstCalls.length === 1);

function callsAtMost(count: number): Check {
  return check(`at most ${count} calls`, ({ firstCalls }) => firstCalls.length <= count);
}

function callsWithin(count: number, ms: number): Check {
  return check(`at most ${count} calls in the first ${ms / 1000} s`, ({ firstCalls, timing }) => {
    const [begun] = firstCalls;
    const limit = (begun?.startedAtMs ?? 0) + timing.own(ms);
    return firstCalls.filter(({ startedAtMs }) => startedAtMs <= limit).length <= count;
  });
}

function doneWithin(ms: number): Check {
  return check(`done within ${ms / 1000} s`, ({ asked, timing }) =>
    asked.every(({ durationMs }) => durationMs <= timing.limit(ms)),
  );
}

const usagePresent = check('usage is reported', ({ asked }) =>
  asked.every(({ usage }) => usage !== undefined && usage.output === 60),
);

export const shapes: readonly Shape[] = [
  {
    id: 'S01',
    what: '429 with Retry-After 2 s once, then fine',
    first: (timing) => [
      status(429, { headers: { 'retry-after-ms': String(timing.own(2_000)) } }),
      answers(timing),
    ],
    ideal: 'answer',
    limitMs: 20_000,
    required: [inTime, callsWithin(2, 1_500)],
    advisory: [
      check('a second call to it, 1.8 s or more after the first', ({ firstCalls, timing }) => {
        const [one, two] = firstCalls;
        return one !== undefined && two !== undefined && gap(one, two) >= timing.own(1_800);
      }),
    ],
  },
  {
    id: 'S02',
    what: '429 without Retry-After, always',
    first: () => status(429),
    ideal: 'answer',
    limitMs: 40_000,
    required: [inTime, callsWithin(4, 3_000), callsAtMost(6)],
    advisory: [],
  },
  {
    id: 'S03',
    what: '500 once, then fine',
    first: (timing) => [status(500), answers(timing)],
    ideal: 'answer',
    limitMs: 20_000,
    required: [inTime],
    advisory: [
      check('the second call goes to the same provider', ({ firstCalls }) => firstCalls.length >= 2),
    ],
  },
  {
    id: 'S04',
    what: '503 always',
    first: () => status(503),
    ideal: 'answer',
    limitMs: 40_000,
    required: [inTime, callsAtMost(6)],
    advisory: [],
  },
  {
    id: 'S05',
    what: 'a reset before any byte, once',
    first: (timing) => [{ type: 'reset' }, answers(timing)],
    ideal: 'answer',
    limitMs: 20_000,
    required: [inTime],
    advisory: [],
  },
  {
    id: 'S06',
    what: 'takes the request and is silent for 120 s',
    first: (timing) => ({
      type: 'answer',
      ...healthy(timing),
      beforeHeaders: { ms: timing.silence(120_000) },
    }),
    timer: 'firstEventMs',
    ideal: 'answer',
    limitMs: 130_000,
    required: [inTime, doneWithin(100_000)],
    advisory: [oneCall],
  },
  {
    id: 'S07',
    what: 'headers at once, the first token after 20 s',
    first: (timing) => ({
      type: 'stall',
      after: { bytes: 0 },
      for: { ms: timing.silence(20_000) },
      answer: healthy(timing),
    }),
    timer: 'firstEventMs',
    ideal: 'answer',
    limitMs: 60_000,
    required: [inTime],
    advisory: [doneWithin(15_000)],
  },
  {
    id: 'S08',
    what: 'dies after 40 of 60 tokens, without an end marker',
    first: cutAfterForty,
    ideal: 'answer',
    limitMs: 40_000,
    required: [inTime, noCutSuccess],
    advisory: [],
  },
  {
    id: 'S09',
    what: 'silent after 20 tokens for 30 s, then closes',
    first: (timing) => ({
      type: 'stall',
      after: { contentEvents: 20 },
      for: { ms: timing.silence(30_000) },
      followedBy: 'fin',
      answer: healthy(timing),
    }),
    timer: 'livenessMs',
    ideal: 'answer',
    limitMs: 70_000,
    required: [inTime, doneWithin(45_000), noCutSuccess, healthyAfterwards],
    advisory: [],
  },
  {
    id: 'S10',
    what: 'the tenth event is not JSON, the rest is fine',
    first: (timing) => (call) =>
      isStreamAsked(call)
        ? { type: 'garbage-event', atEvent: 10, answer: healthy(timing) }
        : { type: 'truncated-json', answer: { text: sixtyWords } },
    ideal: 'answer',
    limitMs: 30_000,
    required: [inTime, noCutSuccess, healthyAfterwards],
    advisory: [isWhole],
  },
  {
    id: 'S11',
    what: 'a complete stream, but no [DONE]',
    first: (timing) => ({ type: 'answer', ...healthy(timing), omit: ['end'], framing: 'close' }),
    ideal: 'answer',
    limitMs: 30_000,
    required: [inTime, doneWithin(8_000)],
    advisory: [usagePresent],
  },
  {
    id: 'S12',
    what: '400 context_length_exceeded, always',
    first: () => refusal('context_length_exceeded'),
    ideal: 'answer',
    limitMs: 20_000,
    required: [inTime, oneCall],
    advisory: [],
  },
  {
    id: 'S13',
    what: '400 content_policy_violation, always',
    first: () => refusal('content_policy_violation'),
    ideal: 'error',
    limitMs: 20_000,
    required: [
      inTime,
      oneCall,
      check('the caller learns that very error', ({ asked }) =>
        asked.every(({ errorCode }) => errorCode === 'content_policy_violation'),
      ),
    ],
    advisory: [],
  },
  {
    id: 'S14',
    what: 'dies after 40 of 60 tokens; the fallback refuses what ends with an assistant message',
    first: cutAfterForty,
    fallback: (call) =>
      endsWithAssistant(call) ? refusal('prefill_not_supported') : { type: 'answer', text: sixtyWords },
    ideal: 'answer',
    limitMs: 40_000,
    required: [
      inTime,
      check('the caller never sees the refusal', ({ asked }) =>
        asked.every(({ errorCode }) => errorCode !== 'prefill_not_supported'),
      ),
      noCutSuccess,
    ],
    advisory: [],
  },
  {
    id: 'S15',
    what: '503 for 60 s, then fine; twenty requests 4 s apart',
    first: (timing, begunAtMs) => () =>
      performance.now() - begunAtMs < timing.own(60_000) ? status(503) : answers(timing),
    ideal: 'answer',
    requests: { count: 20, everyMs: 4_000 },
    limitMs: 200_000,
    required: [
      inTime,
      check('all during the outage are served by the fallback', ({ asked, begunAtMs, timing }) =>
        asked
          .filter(({ endedAtMs }) => endedAtMs < begunAtMs + timing.own(60_000))
          .every(({ result, model }) => result === 'whole' && model === 'fallback'),
      ),
      check('the first provider serves again within 30 s of its recovery', ({ asked, begunAtMs, timing }) =>
        asked.some(
          ({ model, endedAtMs }) => model === 'first' && endedAtMs <= begunAtMs + timing.limit(90_000),
        ),
      ),
    ],
    advisory: [
      check('few calls to it during the outage', ({ firstCalls, begunAtMs, timing }) => {
        const recoveredAtMs = begunAtMs + timing.own(60_000);
        return firstCalls.filter(({ startedAtMs }) => startedAtMs < recoveredAtMs).length <= 15;
      }),
    ],
  },
  {
    id: 'S16',
    what: '503 always, the fallback answers',
    first: () => status(503),
    ideal: 'answer',
    limitMs: 40_000,
    required: [
      inTime,
      check('body and usage are those of the fallback', ({ asked, fallbackCalls }) =>
        asked.every((one) => one.model === 'fallback' && isUsageOf(one, fallbackCalls)),
      ),
      callsAtMost(6),
    ],
    advisory: [usagePresent],
  },
];

/** A close-delimited body: what the connection says is a good end. */
function cutAfterForty(timing: Timing): Behaviour {
  return { type: 'cut', after: { contentEvents: 40 }, framing: 'close', answer: healthy(timing) };
}

function gap(one: Call, two: Call): number {
  return two.startedAtMs - one.startedAtMs;
}

function isStreamAsked({ json }: Call): boolean {
  return typeof json === 'object' && json !== null && 'stream' in json && json.stream === true;
}

function endsWithAssistant({ json }: Call): boolean {
  const messages =
    typeof json === 'object' && json !== null && 'messages' in json && Array.isArray(json.messages)
      ? json.messages
      : [];
  return messages.at(-1)?.role === 'assistant';
}

function isUsageOf({ usage }: AskedOnce, calls: readonly Call[]): boolean {
  return (
    usage === undefined ||
    calls.some(({ tokens }) => tokens.inputTokens === usage.input && tokens.outputTokens === usage.output)
  );
}
