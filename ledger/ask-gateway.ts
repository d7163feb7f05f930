// What would a gateway do with a request? One call to the internal port of one that is ready.

import type { Clock } from '../core/clock.ts';
import { CHECK_PATH, CHECK_TIMEOUT_MS } from '../core/contract/connection-check.ts';
import { wayToGateway } from '../core/contract/internal-tls.ts';
import type { CATALOG_PATH, PLAN_PATH } from '../core/contract/plan.ts';
import { CallFault, OwnCalls, readBytes } from '../core/kube/own-call.ts';
import type { JournalPod } from './ask-journal.ts';

export interface GatewayAnswer {
  /** Name of the Pod. */
  readonly pod: string;
  readonly status: number;
  /** JSON. */
  readonly body: unknown;
}

export interface GatewayAsker {
  /**
   * Undefined where none is ready, or its token is not known.
   *
   * @throws {CallFault} where the one that was asked does not answer in time.
   */
  ask(
    path: typeof PLAN_PATH | typeof CATALOG_PATH | typeof CHECK_PATH,
    question: object,
  ): Promise<GatewayAnswer | undefined>;
  close(): void;
}

interface GatewayAskerParts {
  readonly clock: Clock;
  /** From 0 up to 1. */
  random(): number;
  readyPods(): readonly JournalPod[];
  token(): string | undefined;
  /** Authorities; undefined, or left out: no gateway has a certificate. */
  trusted?(): string | undefined;
}

const timeoutMs = 5_000;
/** A catalog of two thousand models is some two megabytes. */
const answerBytesMax = 16 * 1024 * 1024;

export function openGatewayAsker({
  clock,
  random,
  readyPods,
  token,
  trusted,
}: GatewayAskerParts): GatewayAsker {
  const calls = new OwnCalls(clock);
  const end = new AbortController();
  return {
    async ask(path, question) {
      const pods = readyPods();
      const pod = pods[Math.floor(random() * pods.length)];
      const bearer = token();
      if (pod === undefined || bearer === undefined) return undefined;
      return await calls.ask({
        ...wayToGateway(pod, path, trusted?.()),
        token: bearer,
        body: JSON.stringify(question),
        // A provider may take its time.
        timeoutMs: path === CHECK_PATH ? CHECK_TIMEOUT_MS + timeoutMs : timeoutMs,
        signal: end.signal,
        async read(answer) {
          const text = (await readBytes(answer, answerBytesMax)).toString('utf8');
          return { pod: pod.name, status: answer.statusCode ?? 0, body: parseJson(text) };
        },
      });
    },
    close() {
      end.abort();
      calls.close();
    },
  };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new CallFault('its answer is not JSON');
  }
}
