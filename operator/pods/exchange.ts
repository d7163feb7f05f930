// The exchange with ready gateway pods: one long-poll per pod, which answers when the pod has news and is repeated at once.

import type { Clock } from '../../core/clock.ts';
import {
  type DrillOrder,
  EXCHANGE_PATH,
  EXCHANGE_WAIT_MS_MAX,
  type ExchangeRequest,
  type ExchangeResponse,
  exchangeResponseSchema,
} from '../../core/contract/exchange.ts';
import { type GatewayWay, wayToGateway } from '../../core/contract/internal-tls.ts';
import { CallFault, OwnCalls } from '../../core/kube/own-call.ts';
import { readAnswer } from '../read-answer.ts';
import type { GatewayPod } from '../watch/gateway-pods.ts';
import type { PodAnswer, PodAnswers } from './pods-state.ts';

interface ExchangeOptions {
  readonly clock: Clock;
  /** 0 to 1. */
  random(): number;
  /** The bearer token, read for each call; undefined before there is one. */
  tokenOf(): string | undefined;
  /** Authorities that are trusted, read at each call. Undefined, or left out: no gateway has a certificate. */
  trusted?(): string | undefined;
  /** The drills for a pod, read for each call. Left out: none. */
  drillsOf?(uid: string): readonly DrillOrder[];
  /** A pod said something new, or fell silent, or came back. */
  onChange(uid: string): void;
  /** How long a pod may keep us waiting. */
  readonly waitMs?: number;
  /** Over HTTP where left out. */
  readonly askPod?: AskPod;
}

/** The body is that of an exchange. Messages of its errors are fit to be shown to users: no address, no token. */
export type AskPod = (pod: GatewayPod, token: string, body: string, timeoutMs: number) => PodCall;

interface PodCall {
  readonly answer: Promise<ExchangeResponse>;
  abort(): void;
}

export interface Exchange {
  /** The pods that are ready now; one that is not among them is forgotten at once. */
  setPods(pods: readonly GatewayPod[]): void;
  answers(): PodAnswers;
  /** There is news for the pod: its waiting call is ended, and repeated at once. */
  renew(uid: string): void;
  /** Ends every call. */
  close(): void;
}

interface Poll {
  stop(): void;
  renew(): void;
}

const backoffMinMs = 200;
const backoffMaxMs = 5_000;
/** Between two calls to one pod, so that constant changes do not cause constant calls. */
const callGapMs = 100;
/** Beyond what the pod was allowed to wait. */
const lateMs = 10_000;
/** An answer holds some 150 bytes for each upstream and key in use. */
const answerBytesMax = 8 * 1024 * 1024;

export function startExchange(options: ExchangeOptions): Exchange {
  const { clock } = options;
  const waitMs = options.waitMs ?? EXCHANGE_WAIT_MS_MAX;
  const calls = new OwnCalls(clock);
  const askPod: AskPod =
    options.askPod ??
    ((pod, token, body, timeoutMs) =>
      startCall(calls, wayToGateway(pod, EXCHANGE_PATH, options.trusted?.()), token, body, timeoutMs));
  const answers = new Map<string, PodAnswer>();
  const polls = new Map<string, Poll & { readonly pod: GatewayPod }>();
  let readyPods = 0;
  let isClosed = false;

  return {
    setPods(pods) {
      if (isClosed) return;
      readyPods = pods.length;
      const wanted = new Map(pods.map((pod) => [pod.uid, pod]));
      for (const [uid, { pod, stop }] of polls) {
        const now = wanted.get(uid);
        if (now !== undefined && now.ip === pod.ip && now.port === pod.port && now.tlsPort === pod.tlsPort)
          continue;
        stop();
        polls.delete(uid);
        answers.delete(uid);
      }
      for (const [uid, pod] of wanted) {
        if (!polls.has(uid)) polls.set(uid, { pod, ...startPoll(pod) });
      }
    },
    answers: () => answers,
    renew: (uid) => polls.get(uid)?.renew(),
    close() {
      isClosed = true;
      for (const { stop } of polls.values()) stop();
      polls.clear();
      calls.close();
    },
  };

  function startPoll(pod: GatewayPod): Poll {
    let failures = 0;
    let isStopped = false;
    let call: PodCall | undefined;
    let cancelTimer: (() => void) | undefined;
    ask();
    return {
      stop() {
        isStopped = true;
        cancelTimer?.();
        call?.abort();
      },
      renew() {
        if (call === undefined) return;
        const ended = call;
        ask();
        ended.abort();
      },
    };

    function ask(): void {
      cancelTimer = undefined;
      const token = options.tokenOf();
      if (token === undefined) {
        onFailure('the operator has no exchange token yet');
        return;
      }
      const startedAtMs = clock.now();
      const seen = answers.get(pod.uid)?.response?.state;
      const drills = options.drillsOf?.(pod.uid) ?? [];
      const body: ExchangeRequest = {
        waitMs,
        readyPods,
        ...(seen === undefined ? {} : { seen }),
        ...(drills.length === 0 ? {} : { drills: [...drills] }),
      };
      const mine = askPod(pod, token, JSON.stringify(body), waitMs + lateMs);
      call = mine;
      mine.answer.then(
        (response) => {
          // Another one has taken its place, and says the same or more.
          if (call !== mine) return;
          call = undefined;
          if (!isStopped) onResponse(response, startedAtMs);
        },
        (error: unknown) => {
          if (call !== mine) return;
          call = undefined;
          if (!isStopped) onFailure(error instanceof Error ? error.message : 'it could not be reached');
        },
      );
    }

    function onResponse(response: ExchangeResponse, startedAtMs: number): void {
      failures = 0;
      const before = answers.get(pod.uid);
      answers.set(pod.uid, { response, atMs: clock.wallMs() });
      // Before anybody hears of the change: what they do may end this poll.
      cancelTimer = clock.setTimer(Math.max(0, callGapMs - (clock.now() - startedAtMs)), ask);
      if (before?.response?.state !== response.state || before.failure !== undefined)
        options.onChange(pod.uid);
    }

    function onFailure(failure: string): void {
      const backoffMs = Math.min(backoffMaxMs, backoffMinMs * 2 ** Math.min(failures, 10));
      failures += 1;
      const before = answers.get(pod.uid);
      const response = before?.response;
      answers.set(pod.uid, {
        failure,
        atMs: clock.wallMs(),
        ...(response === undefined ? {} : { response }),
      });
      // At least half of it, so that many pods do not come back together.
      cancelTimer = clock.setTimer(backoffMs * (0.5 + options.random() / 2), ask);
      if (before?.failure !== failure) options.onChange(pod.uid);
    }
  }
}

function startCall(
  calls: OwnCalls,
  way: GatewayWay,
  token: string,
  body: string,
  timeoutMs: number,
): PodCall {
  const ending = new AbortController();
  const answer = calls.ask({
    ...way,
    token,
    body,
    timeoutMs,
    signal: ending.signal,
    async read(incoming) {
      const { statusCode } = incoming;
      if (statusCode === 401) throw new CallFault('it rejects the exchange token');
      if (statusCode !== 200) throw new CallFault(`it answers the exchange with status ${statusCode}`);
      return await readAnswer(incoming, exchangeResponseSchema, answerBytesMax);
    },
  });
  return { answer, abort: () => ending.abort() };
}
