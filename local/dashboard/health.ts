// Does an upstream answer? By the calls of the gateway in this process, in the words of the operator.

import type { Clock } from '../../core/clock.ts';
import {
  EXCHANGE_PATH,
  EXCHANGE_WAIT_MS_MAX,
  type ExchangeResponse,
  exchangeResponseSchema,
} from '../../core/contract/exchange.ts';
import { CallFault, OwnCalls, readBytes } from '../../core/kube/own-call.ts';
import { wait } from '../../core/kube/wait.ts';
import { providerStatusSchema, TROUBLES_MAX } from '../../operator/resources/provider.ts';
import { type HealthOf, indexHealth } from '../../operator/status/health-of.ts';
import { type Trouble, troubleStatus } from '../../operator/status/troubles.ts';

/** The gateway's health of its upstreams; empty before its first answer. */
export function healthHere(heard: ExchangeResponse | undefined): HealthOf {
  const gateway = { uid: 'local', name: 'this gateway', ip: '127.0.0.1', port: 0 };
  return indexHealth([gateway], new Map(heard && [['local', { response: heard, atMs: 0 }]]));
}

/** As `status.health.troubles` of a Provider; undefined: nothing. @param before the status so far. */
export function troublesHere(troubles: readonly Trouble[], before: unknown, nowMs: number) {
  const reported = providerStatusSchema.safeParse(before).data?.health?.troubles;
  const shown = troubles.slice(0, TROUBLES_MAX).map((trouble) => troubleStatus(trouble, reported, nowMs));
  return shown.length === 0 ? undefined : shown;
}

interface FollowOptions {
  /** Of its exchange. */
  readonly gateway: { readonly url: string; readonly token: string };
  readonly clock: Clock;
  /** Of all Providers, whenever it has changed. */
  onHealth(heard: ExchangeResponse): void;
}

const againMs = 1_000;
const answerBytesMax = 4 * 2 ** 20;

export function followHealth({ gateway, clock, onHealth }: FollowOptions): { close(): Promise<void> } {
  const calls = new OwnCalls(clock);
  const end = new AbortController();

  async function ask(seen: string | undefined): Promise<string | undefined> {
    const text = await calls.ask({
      to: new URL(EXCHANGE_PATH, gateway.url),
      token: gateway.token,
      body: JSON.stringify({ seen, waitMs: EXCHANGE_WAIT_MS_MAX, readyPods: 1 }),
      timeoutMs: EXCHANGE_WAIT_MS_MAX + 10_000,
      signal: end.signal,
      read: async (answer) => (await readBytes(answer, answerBytesMax)).toString('utf8'),
    });
    const heard = exchangeResponseSchema.parse(JSON.parse(text));
    onHealth(heard);
    return heard.state;
  }

  async function follow(): Promise<void> {
    let seen: string | undefined;
    while (!end.signal.aborted) {
      try {
        seen = await ask(seen);
      } catch (error) {
        if (end.signal.aborted) return;
        // It is in this very process: what it says otherwise is our fault.
        if (!(error instanceof CallFault)) throw error;
        await wait(clock, againMs, end.signal);
      }
    }
  }
  const following = follow();
  return {
    async close() {
      end.abort();
      calls.close();
      await following;
    },
  };
}
