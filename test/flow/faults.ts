// In which ways does a provider fail, and what becomes of a request then? The table of the failover tests.

import type { DialectName, RouteEntry, Timeouts } from '../../core/contract/routing-table.ts';
import type { Behaviour, Framing, Point } from '../support/wall.ts';

export const modes = ['stream', 'plain'] as const;
export type Mode = (typeof modes)[number];

/** What a caller learns when the failing provider is the only one. */
export interface Reported {
  readonly status: number;
  /** On the messages routes, where it is another one. */
  readonly messagesStatus?: number;
  readonly code: string;
  /** Calls of the only provider, where they are more than before another is asked. */
  readonly callsAlone?: 3;
  /** Calls the provider sees: 2 where the same may be tried once more. */
  readonly calls: 1 | 2;
  /** The exact `retry-after`; left out: none is sent. */
  readonly retryAfter?: string;
}

interface Common {
  readonly name: string;
  /** `refused`: nobody listens. */
  readonly fault: Behaviour | 'refused';
  /** Default: both. */
  readonly modes?: readonly Mode[];
  /** Events without content went before it; completions have none. */
  readonly hasBegun?: boolean;
  /** What upstreams speak in which there is such a fault; default: all. */
  readonly upstreams?: readonly DialectName[];
  readonly timeouts?: Timeouts;
  readonly retryOn?: RouteEntry['failover']['retryOn'];
  /** Tokens that fit into the model of the failing provider, and into that of the next; default: nobody knows. */
  readonly contextLengths?: readonly [number, number];
  /** The ledger's word for it. */
  readonly failure: string;
}

/** Nothing has reached the caller: the next provider answers. */
export interface MovesOn extends Common {
  readonly effect: 'moves-on';
  readonly alone: Reported;
}

/** One call, and the caller is reported: trying elsewhere could not help. */
export interface Ends extends Common {
  readonly effect: 'ends';
  readonly reported: Omit<Reported, 'calls'>;
  /** Where the upstream speaks another family of dialects: its codes would mean nothing to the caller. */
  readonly foreign?: Omit<Reported, 'calls'>;
  /** The upstream's own words, kept byte for byte. */
  readonly message?: string;
}

/** Content has reached the caller: an error frame, and a body that does not end well. */
export interface BreaksOff extends Common {
  readonly effect: 'breaks-off';
  readonly code: string;
  /** Tokens the caller has read before it. */
  readonly read: number;
}

export type Row = MovesOn | Ends | BreaksOff;

const upstreamError: Reported = { status: 502, code: 'upstream_error', calls: 1 };
const overloaded: Reported = {
  status: 503,
  messagesStatus: 529,
  code: 'upstream_overloaded',
  calls: 1,
  retryAfter: '2',
};
const invalidAnswer: Reported = { status: 502, code: 'upstream_invalid_response', calls: 1 };
const timedOut: Reported = { status: 504, code: 'upstream_timeout', calls: 1 };
const limited = (retryAfter: string): Reported => ({
  status: 429,
  code: 'rate_limit_exceeded',
  calls: 1,
  retryAfter,
});
/** It wants a person: nobody learns when to come back. */
const outOfMoney: Reported = { status: 429, code: 'rate_limit_exceeded', calls: 1 };

/** In responses it is not the reason that tells of a failure. */
const reasonReported: readonly DialectName[] = ['openai-chat', 'openai-completions', 'anthropic-messages'];

const message = 'Ünusual words – kept byte for byte, "quotes" too';
/** Long enough for a request to arrive, also on a machine with much else to do. */
const quick: Timeouts = { firstEventMs: 1_000, lastFirstEventMs: 1_000 };
const framings: readonly Framing[] = ['chunked', 'close', 'content-length'];

const status = (code: number, more: Partial<Extract<Behaviour, { type: 'status' }>> = {}): Behaviour => ({
  type: 'status',
  status: code,
  ...more,
});

const tooLongPrompt = 'prompt is too long: 9 tokens > 8 maximum';
const contextExceeded = status(400, {
  error: { type: 'invalid_request_error', code: 'context_length_exceeded', message: tooLongPrompt },
});

const statuses: readonly Row[] = [
  ...[500, 502, 504].map(
    (code): Row => ({
      name: `${code}`,
      fault: status(code),
      failure: `status_${code}`,
      effect: 'moves-on',
      alone: { ...upstreamError, calls: 2 },
    }),
  ),
  ...[503, 529].map(
    (code): Row => ({
      name: `${code}`,
      fault: status(code),
      failure: `status_${code}`,
      effect: 'moves-on',
      alone: { ...overloaded, callsAlone: 3 },
    }),
  ),
  {
    name: '429 without Retry-After',
    fault: status(429),
    failure: 'status_429',
    effect: 'moves-on',
    alone: limited('20'),
  },
  {
    name: '429 with a short Retry-After',
    fault: status(429, { headers: { 'retry-after-ms': '20' } }),
    failure: 'status_429',
    effect: 'moves-on',
    alone: { ...limited('1'), calls: 2 },
  },
  {
    name: '429 with a Retry-After above five seconds',
    fault: status(429, { headers: { 'retry-after': '30' } }),
    failure: 'status_429',
    effect: 'moves-on',
    alone: limited('30'),
  },
  {
    name: '429 with a Retry-After of a day',
    fault: status(429, { headers: { 'retry-after': '86400' } }),
    failure: 'status_429',
    effect: 'moves-on',
    alone: limited('60'),
  },
  {
    name: '429 insufficient_quota',
    fault: status(429, { error: { type: 'insufficient_quota', code: 'insufficient_quota' } }),
    failure: 'status_429',
    effect: 'moves-on',
    alone: outOfMoney,
  },
  {
    name: '402',
    fault: status(402),
    failure: 'status_402',
    effect: 'moves-on',
    alone: outOfMoney,
  },
  {
    name: 'out of money, as Anthropic says it',
    fault: status(400, {
      error: {
        message: 'Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing.',
      },
    }),
    failure: 'status_400',
    effect: 'moves-on',
    alone: outOfMoney,
  },
  ...[401, 403].map(
    (code): Row => ({
      name: `${code}`,
      fault: status(code),
      failure: `status_${code}`,
      effect: 'moves-on',
      alone: { status: 502, code: 'upstream_auth_failed', calls: 1 },
    }),
  ),
  {
    name: '404',
    fault: status(404),
    failure: 'status_404',
    effect: 'moves-on',
    alone: { status: 404, code: 'model_not_found', calls: 1 },
  },
  {
    name: '404 of a wrong address',
    fault: { type: 'status', status: 404, error: { code: '404', message: 'Resource not found' } },
    failure: 'status_404',
    effect: 'moves-on',
    alone: invalidAnswer,
  },
  {
    // One upstream of two does not know the model: it is misconfigured, the model is not gone.
    name: '404 where the route does not move on from it',
    fault: status(404),
    retryOn: ['ServerError'],
    failure: 'status_404',
    effect: 'ends',
    reported: { status: 502, code: 'upstream_error' },
  },
  {
    name: '408',
    fault: status(408),
    failure: 'status_408',
    effect: 'moves-on',
    alone: { ...upstreamError, calls: 2 },
  },
  ...[400, 422].map(
    (code): Row => ({
      name: `${code}`,
      fault: status(code, { error: { message, code: 'wrong_thing' } }),
      failure: `status_${code}`,
      effect: 'ends',
      reported: { status: code, code: 'wrong_thing' },
      foreign: { status: 400, code: 'invalid_parameter' },
      message,
    }),
  ),
  {
    name: 'a prompt that is too long for a model smaller than the next',
    fault: contextExceeded,
    contextLengths: [8, 16],
    failure: 'status_400',
    effect: 'moves-on',
    alone: { status: 400, code: 'context_length_exceeded', calls: 1 },
  },
  {
    name: 'a prompt that is too long for a model as large as the next',
    fault: contextExceeded,
    contextLengths: [8, 8],
    failure: 'status_400',
    effect: 'ends',
    reported: { status: 400, code: 'context_length_exceeded' },
    message: tooLongPrompt,
  },
  {
    name: 'content that is not allowed',
    fault: status(400, {
      error: { type: 'invalid_request_error', code: 'content_policy_violation', message },
    }),
    failure: 'status_400',
    effect: 'ends',
    reported: { status: 400, code: 'content_policy_violation' },
    message,
  },
  {
    name: '413',
    fault: status(413, { error: { message } }),
    failure: 'status_413',
    effect: 'ends',
    reported: { status: 413, code: 'request_too_large' },
    message,
  },
  {
    name: '400 whose body breaks off',
    fault: {
      type: 'raw',
      bytes: 'HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\ncontent-length: 90\r\n\r\n{"err',
      followedBy: 'fin',
    },
    failure: 'status_400',
    effect: 'ends',
    reported: { status: 400, code: 'invalid_parameter' },
  },
  {
    name: 'a redirect',
    fault: { type: 'redirect', location: 'http://127.0.0.1:1/' },
    failure: 'status_307',
    effect: 'moves-on',
    alone: invalidAnswer,
  },
];

const silences: readonly Row[] = [
  ...(['before-headers', 'after-headers'] as const).map(
    (when): Row => ({
      name: `a hang ${when.replace('-', ' ')}`,
      fault: { type: 'hang', when },
      modes: ['stream'],
      timeouts: quick,
      failure: 'timeout_first_event',
      effect: 'moves-on',
      alone: timedOut,
    }),
  ),
  // A provider sends nothing of a plain answer until it is done: only the one deadline can see it.
  ...(['before-headers', 'after-headers'] as const).map(
    (when): Row => ({
      name: `a hang ${when.replace('-', ' ')}`,
      fault: { type: 'hang', when },
      modes: ['plain'],
      timeouts: { totalMs: 1_000 },
      failure: 'timeout_total',
      effect: 'ends',
      reported: { status: 504, code: 'upstream_timeout' },
    }),
  ),
  {
    name: 'pings without content',
    fault: { type: 'stall', after: { events: 0 }, pingEveryMs: 10 },
    modes: ['stream'],
    timeouts: quick,
    failure: 'timeout_first_event',
    effect: 'moves-on',
    alone: timedOut,
  },
  {
    name: 'a role, then silence',
    fault: { type: 'stall', after: { events: 1 } },
    modes: ['stream'],
    hasBegun: true,
    timeouts: quick,
    failure: 'timeout_first_event',
    effect: 'moves-on',
    alone: timedOut,
  },
];

const connections: readonly Row[] = [
  {
    name: 'a refused connection',
    fault: 'refused',
    failure: 'connect_refused',
    effect: 'moves-on',
    alone: { ...upstreamError, calls: 2 },
  },
  {
    name: 'a reset before any byte',
    fault: { type: 'reset' },
    failure: 'reset',
    effect: 'moves-on',
    alone: { ...upstreamError, calls: 2 },
  },
  {
    name: 'a FIN before any byte',
    fault: { type: 'raw', bytes: '', followedBy: 'fin' },
    failure: 'reset',
    effect: 'moves-on',
    alone: { ...upstreamError, calls: 2 },
  },
  {
    name: 'something that is not HTTP',
    fault: { type: 'raw', bytes: 'SSH-2.0-OpenSSH_9.9\r\n', followedBy: 'fin' },
    failure: 'bad_head',
    effect: 'moves-on',
    alone: invalidAnswer,
  },
  {
    name: 'headers above 16 KiB',
    fault: { type: 'huge-headers', bytes: 64 * 1024 },
    failure: 'bad_head',
    effect: 'moves-on',
    alone: invalidAnswer,
  },
];

/** A 200 that is no answer. */
const impostors: readonly Row[] = [
  ...(
    [
      ['an HTML page', { type: 'html' }],
      ['an empty body', { type: 'empty' }],
      ['a wrong content type', { type: 'answer', contentType: 'text/plain' }],
      ['a gzipped answer', { type: 'answer', gzip: true }],
    ] satisfies [string, Behaviour][]
  ).map(
    ([name, fault]): Row => ({
      name: `200 with ${name}`,
      fault,
      failure: 'malformed',
      effect: 'moves-on',
      alone: invalidAnswer,
    }),
  ),
  {
    name: '200 with an empty event stream',
    fault: { type: 'empty', contentType: 'text/event-stream' },
    modes: ['stream'],
    failure: 'truncated',
    effect: 'moves-on',
    alone: invalidAnswer,
  },
  {
    name: '200 with garbage instead of JSON',
    fault: status(200, { body: 'not at all', headers: { 'content-type': 'application/json' } }),
    modes: ['plain'],
    failure: 'malformed',
    effect: 'moves-on',
    alone: invalidAnswer,
  },
  {
    name: '200 with JSON that is no answer',
    fault: status(200, { body: { hello: 'world' } }),
    modes: ['plain'],
    failure: 'malformed',
    effect: 'moves-on',
    alone: invalidAnswer,
  },
  {
    name: '200 with an answer whose reason means failure',
    fault: { type: 'answer', finishReason: 'abort' },
    modes: ['plain'],
    upstreams: reasonReported,
    failure: 'error_event',
    effect: 'moves-on',
    alone: upstreamError,
  },
  {
    name: '200 with an error object',
    fault: status(200, { body: { error: { message: 'busy', type: 'overloaded_error' } } }),
    modes: ['plain'],
    failure: 'error_event',
    effect: 'moves-on',
    alone: overloaded,
  },
  {
    name: 'truncated JSON with a length that fits',
    fault: { type: 'truncated-json' },
    modes: ['plain'],
    failure: 'malformed',
    effect: 'moves-on',
    alone: invalidAnswer,
  },
  ...framings.map(
    (framing): Row => ({
      name: `half of the JSON, then a FIN (${framing})`,
      fault: { type: 'cut', after: { bytes: 100 }, framing },
      modes: ['plain'],
      // Without a length or chunks the end of half a body is a good end: only the JSON gives it away.
      failure: framing === 'close' ? 'malformed' : 'truncated',
      effect: 'moves-on',
      alone: invalidAnswer,
    }),
  ),
  {
    name: 'half of the JSON, then a reset',
    fault: { type: 'reset', after: { bytes: 100 } },
    modes: ['plain'],
    failure: 'truncated',
    effect: 'moves-on',
    alone: invalidAnswer,
  },
  {
    name: 'garbage as the first event',
    fault: { type: 'garbage-event', atEvent: 1 },
    modes: ['stream'],
    failure: 'malformed',
    effect: 'moves-on',
    alone: invalidAnswer,
  },
];

/** Translated responses may hold 4 MiB: some of their events repeat the whole answer. */
const tooLong = (upstream: DialectName) => ({
  bytes: (upstream === 'openai-responses' ? 4 : 1) * 1024 * 1024 + 1,
});

const firstEventsOf = (upstream: DialectName): readonly Row[] => [
  {
    name: 'a first event that is too long',
    fault: { type: 'oversized-event', atEvent: 1, ...tooLong(upstream) },
    modes: ['stream'],
    failure: 'too_large',
    effect: 'ends',
    reported: { status: 502, code: 'answer_too_large' },
  },
  ...([undefined, 'data', 'event', 'chunk'] as const).map(
    (shape): Row => ({
      name: `an error as the first event (${shape ?? 'as the dialect tells it'})`,
      fault: {
        type: 'error-event',
        ...(shape === undefined ? {} : { shape, error: { type: 'server_error', code: 'server_error' } }),
      },
      modes: ['stream'],
      failure: 'error_event',
      effect: 'moves-on',
      alone: upstreamError,
    }),
  ),
  {
    name: 'an error as the first event, and then silence',
    fault: { type: 'error-event', shape: 'data', followedBy: 'hang' },
    modes: ['stream'],
    failure: 'error_event',
    effect: 'moves-on',
    alone: upstreamError,
  },
  {
    name: 'overload as the first event',
    fault: { type: 'error-event', error: { type: 'overloaded_error' }, followedBy: 'end-marker' },
    modes: ['stream'],
    failure: 'error_event',
    effect: 'moves-on',
    alone: overloaded,
  },
  {
    name: 'a rate limit as the first event',
    fault: { type: 'error-event', error: { type: 'rate_limit_error', code: 429 } },
    modes: ['stream'],
    failure: 'error_event',
    effect: 'moves-on',
    alone: limited('20'),
  },
  {
    name: 'the mistake of the caller as the first event',
    fault: { type: 'error-event', error: { message, type: 'invalid_request_error', code: 'wrong_thing' } },
    modes: ['stream'],
    failure: 'error_event',
    effect: 'ends',
    reported: { status: 400, code: 'wrong_thing' },
    foreign: { status: 400, code: 'invalid_parameter' },
    message,
  },
  ...framings.map(
    (framing): Row => ({
      name: `a role, then a FIN (${framing})`,
      fault: { type: 'cut', after: { events: 1 }, framing },
      modes: ['stream'],
      hasBegun: true,
      failure: 'truncated',
      effect: 'moves-on',
      alone: invalidAnswer,
    }),
  ),
  {
    name: 'a role, then a reset',
    fault: { type: 'reset', after: { events: 1 } },
    modes: ['stream'],
    hasBegun: true,
    failure: 'truncated',
    effect: 'moves-on',
    alone: invalidAnswer,
  },
  {
    name: 'a role, then an error event',
    fault: { type: 'error-event', afterEvents: 1 },
    modes: ['stream'],
    hasBegun: true,
    failure: 'error_event',
    effect: 'moves-on',
    alone: upstreamError,
  },
];

/** Five tokens have been written when it happens. A reset is not here: it takes unread bytes with it. */
const five: Point = { contentEvents: 5 };

/** Events before the first token. */
const leading: Readonly<Record<DialectName, number>> = {
  'openai-chat': 1,
  'openai-completions': 0,
  'anthropic-messages': 3,
  'openai-responses': 4,
};

const halvesOf = (upstream: DialectName): readonly Row[] => [
  ...framings.map(
    (framing): Row => ({
      name: `half a stream, then a FIN (${framing})`,
      fault: { type: 'cut', after: five, framing },
      modes: ['stream'],
      failure: 'truncated',
      effect: 'breaks-off',
      code: 'upstream_error',
      read: 5,
    }),
  ),
  {
    name: 'half a stream, then an error event',
    fault: { type: 'error-event', afterEvents: leading[upstream] + 5 },
    modes: ['stream'],
    failure: 'error_event',
    effect: 'breaks-off',
    code: 'upstream_error',
    read: 5,
  },
  ...(['end', 'end-marker'] as const).map(
    (followedBy): Row => ({
      name: `half a stream, then an error beside an ordinary event (${followedBy})`,
      fault: { type: 'error-event', afterEvents: leading[upstream] + 5, shape: 'chunk', followedBy },
      modes: ['stream'],
      failure: 'error_event',
      effect: 'breaks-off',
      code: 'upstream_error',
      read: 5,
    }),
  ),
  {
    name: 'half a stream, then a rate limit and [DONE]',
    fault: {
      type: 'error-event',
      afterEvents: leading[upstream] + 5,
      shape: 'event',
      error: { type: 'rate_limit_error', code: 'rate_limit_exceeded' },
      followedBy: 'end-marker',
    },
    modes: ['stream'],
    failure: 'error_event',
    effect: 'breaks-off',
    code: 'rate_limit_exceeded',
    read: 5,
  },
  {
    name: 'an event that is too long in the middle',
    fault: { type: 'oversized-event', atEvent: leading[upstream] + 6, ...tooLong(upstream) },
    modes: ['stream'],
    failure: 'too_large',
    effect: 'breaks-off',
    code: 'answer_too_large',
    read: 5,
  },
  {
    name: 'silence in the middle',
    fault: { type: 'stall', after: five },
    modes: ['stream'],
    timeouts: { livenessMs: 1_500 },
    failure: 'timeout_liveness',
    effect: 'breaks-off',
    code: 'upstream_timeout',
    read: 5,
  },
  {
    name: 'pings without progress in the middle',
    fault: { type: 'stall', after: five, pingEveryMs: 10 },
    modes: ['stream'],
    timeouts: { progressMs: 1_500 },
    failure: 'timeout_progress',
    effect: 'breaks-off',
    code: 'upstream_timeout',
    read: 5,
  },
  {
    name: 'all the text, but no sign of its end',
    fault: { type: 'answer', omit: ['finish', 'usage', 'end'] },
    modes: ['stream'],
    failure: 'truncated',
    effect: 'breaks-off',
    code: 'upstream_error',
    read: 11,
  },
  {
    name: 'all the text, and a reason that means failure',
    fault: { type: 'answer', finishReason: 'abort' },
    modes: ['stream'],
    upstreams: reasonReported,
    failure: 'error_event',
    effect: 'breaks-off',
    code: 'upstream_error',
    read: 11,
  },
  {
    // In the other dialects the finish reason says that nothing is missing; here the last event says it.
    name: 'all of a response but its last event',
    fault: { type: 'answer', omit: ['end'] },
    modes: ['stream'],
    upstreams: ['openai-responses'],
    failure: 'truncated',
    effect: 'breaks-off',
    code: 'upstream_error',
    read: 11,
  },
];

/** The faults of a provider that speaks this dialect. */
export function rowsOf(upstream: DialectName): readonly Row[] {
  return [
    ...statuses,
    ...silences,
    ...connections,
    ...impostors,
    ...firstEventsOf(upstream),
    ...halvesOf(upstream),
  ].filter(
    ({ upstreams, hasBegun = false }) =>
      upstreams?.includes(upstream) !== false && !(hasBegun && leading[upstream] === 0),
  );
}
