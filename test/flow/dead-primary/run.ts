// What becomes of a load whose first provider is dead, and then back? Several gateway processes, each with its own idea of who is
// well, in front of two walls that count every call.

import { launchListening, makeFolder } from '../../gateway/process/gateway-process.ts';
import { tableOf, testKey } from '../../gateway/rig.ts';
import type { LoadFigures } from '../../support/load/figures.ts';
import { startLoad } from '../../support/load/start.ts';
import { until } from '../../support/until.ts';
import { type Call, startWall } from '../../support/wall.ts';
import { judgeWaste, type Waste } from './judge-waste.ts';

export interface DeadPrimary {
  readonly gateways: number;
  readonly requestsPerSecond: number;
  readonly deadMs: number;
  readonly breaker: {
    readonly consecutiveFailures: number;
    readonly openForMs: number;
    readonly maxOpenMs: number;
    readonly rateLimitCooldownMs: number;
  };
  /** So long it is waited for that all gateways are back. */
  readonly backMaxMs: number;
}

export interface DeadPrimarySeen {
  /** While it was dead, and since it was back. */
  readonly dead: LoadFigures;
  readonly back: LoadFigures;
  /** While it was dead: calls that both providers saw, and those of the dead one. */
  readonly upstreamCalls: number;
  readonly deadCalls: number;
  /** One for each gateway. */
  readonly pods: readonly (Waste & {
    /** From when it was well again to the first call it answered; undefined: within `backMaxMs` there was none. */
    readonly backAfterMs: number | undefined;
  })[];
}

export async function runDeadPrimary(given: DeadPrimary): Promise<DeadPrimarySeen> {
  await using parts = new AsyncDisposableStack();
  const primary = await startWall({ type: 'reset' });
  parts.defer(() => primary.close());
  const secondary = await startWall();
  parts.defer(() => secondary.close());
  const credentials = Array.from({ length: given.gateways }, (_, index) => `credential-of-gateway-${index}`);
  const urls = await Promise.all(credentials.map((credential) => launch(credential)));

  /** The wall knows a gateway by the credential it sends. */
  async function launch(credential: string): Promise<string> {
    const folder = await makeFolder();
    parts.defer(() => folder.remove());
    const { breaker } = given;
    await folder.putTable(
      tableOf([
        { baseUrl: primary.baseUrl, keys: { only: credential }, providerEntry: { breaker } },
        { baseUrl: secondary.baseUrl },
      ]),
    );
    const gateway = await launchListening(folder);
    parts.defer(async () => void (await gateway.process.stop()));
    await gateway.process.line(/routing table in use/);
    return gateway.url;
  }

  const callsOf = (credential: string, from = 0): readonly Call[] =>
    primary.calls.slice(from).filter(({ headers }) => headers.authorization === `Bearer ${credential}`);
  const load = async () => {
    const running = await startLoad({
      urls,
      key: testKey,
      requestsPerSecond: given.requestsPerSecond,
      streams: 0,
      models: { request: 'm', stream: 'm' },
    });
    parts.defer(() => running.kill());
    return running;
  };

  const whileDead = await load();
  await new Promise((resolve) => setTimeout(resolve, given.deadMs));
  const dead = await whileDead.stop();
  const deadCalls = primary.calls.length;
  const upstreamCalls = deadCalls + secondary.calls.length;
  const wastes = credentials.map((credential) => judgeWaste(callsOf(credential), given.breaker));

  const whenBack = await load();
  primary.script({ type: 'answer' });
  const backMs = performance.now();
  const answeredAfter = (credential: string): number | undefined => {
    const first = callsOf(credential, deadCalls).find(({ end }) => end === 'complete');
    return first === undefined ? undefined : first.startedAtMs - backMs;
  };
  const isOver = () =>
    performance.now() - backMs > given.backMaxMs ||
    credentials.every((credential) => answeredAfter(credential) !== undefined);
  await until(async () => isOver(), 100);
  const back = await whenBack.stop();
  return {
    dead,
    back,
    upstreamCalls,
    deadCalls,
    pods: wastes.map((waste, index) => ({
      ...waste,
      backAfterMs: answeredAfter(credentials[index] ?? ''),
    })),
  };
}
