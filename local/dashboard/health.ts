// Does an upstream answer? By the calls of the gateway in this process, with the conditions of the operator.

import type { Clock } from '../../core/clock.ts';
import {
  EXCHANGE_PATH,
  EXCHANGE_WAIT_MS_MAX,
  exchangeResponseSchema,
  type UpstreamHealth,
} from '../../core/contract/exchange.ts';
import { podWordOf } from '../../core/contract/pod-word.ts';
import { CallFault, OwnCalls, readBytes } from '../../core/kube/own-call.ts';
import { timeOf } from '../../core/kube/time.ts';
import { wait } from '../../core/kube/wait.ts';
import type { Condition } from '../../operator/compile/verdict.ts';
import { providerStatusSchema, TROUBLES_MAX } from '../../operator/resources/provider.ts';
import { TROUBLE_REASONS } from '../../operator/resources/trouble-reason.ts';

/** @param keys names of those of the Provider that are in use. @param entries what is known of this Provider. */
export function healthCondition(entries: readonly UpstreamHealth[], keys: readonly string[]): Condition {
  const say = (status: Condition['status'], reason: Condition['reason'], message: string): Condition => ({
    type: 'Healthy',
    status,
    reason,
    message,
  });
  if (entries.length === 0) return say('Unknown', 'NoTraffic', 'no recent calls');
  switch (podWordOf(entries, keys)) {
    case 'working':
      return say('True', 'Healthy', '');
    case 'refused':
      return say(
        'False',
        'AuthenticationFailed',
        'the upstream rejects every key; put valid keys into the Secrets',
      );
    case 'exhausted':
      return say(
        'False',
        'CredentialExhausted',
        'every key is out of credit or rejected; top up the accounts, or put other keys into the Secrets',
      );
    case 'failing':
      return say(
        'False',
        'Unhealthy',
        'all recent calls failed; check the address and whether the server is running',
      );
    case 'partly':
      return say('False', 'PartiallyHealthy', failingIn(entries));
  }
}

function failingIn(entries: readonly UpstreamHealth[]): string {
  const models = entries.flatMap(({ state, upstreamModel }) =>
    state === 'open' ? (upstreamModel ?? []) : [],
  );
  return models.length === 0 ? 'calls fail with some keys' : `calls fail for ${models.join(', ')}`;
}

/** What the gateway skips now, as `status.health.troubles` of a Provider; undefined: nothing. @param before the status so far. */
export function troublesHere(
  entries: readonly UpstreamHealth[],
  keys: readonly string[],
  before: unknown,
  nowMs: number,
) {
  const reported = providerStatusSchema.safeParse(before).data?.health?.troubles ?? [];
  const troubles = entries.flatMap(({ key, upstreamModel, state, untilMs }) => {
    const reason = TROUBLE_REASONS[state];
    if (reason === undefined || (key !== undefined && !keys.includes(key))) return [];
    const same = reported.find(
      (one) => one.key === key && one.upstreamModel === upstreamModel && one.reason === reason,
    );
    const pod = {
      name: 'this gateway',
      sinceTime: same?.pods[0]?.sinceTime ?? timeOf(nowMs),
      ...(untilMs === undefined ? {} : { nextTryTime: timeOf(untilMs) }),
    };
    const where = {
      ...(key === undefined ? {} : { key }),
      ...(upstreamModel === undefined ? {} : { upstreamModel }),
    };
    return [{ ...where, reason, podCount: 1, pods: [pod] }];
  });
  return troubles.length === 0 ? undefined : troubles.slice(0, TROUBLES_MAX);
}

interface FollowOptions {
  /** Of its exchange. */
  readonly gateway: { readonly url: string; readonly token: string };
  readonly clock: Clock;
  /** Of all Providers, whenever it has changed. */
  onHealth(entries: readonly UpstreamHealth[]): void;
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
    const { state, health } = exchangeResponseSchema.parse(JSON.parse(text));
    onHealth(health);
    return state;
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
