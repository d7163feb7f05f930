// News of the gateway pods since the last look: the generation that all run, rejected tables, and the health of upstreams.

import type { TableVersion } from '../../core/contract/exchange.ts';
import type { Exchange } from '../pods/exchange.ts';
import { type PodsState, podsState } from '../pods/pods-state.ts';
import { type CredentialsOf, indexCredentials } from '../status/credentials-of.ts';
import { type HealthOf, indexHealth, type ProviderHealth } from '../status/health-of.ts';
import type { Cluster } from '../watch/cluster.ts';
import type { Verdicts } from './verdicts.ts';

export interface PodNews {
  /** Another generation runs on all pods, or there are more or fewer of them, or it is not known any more which there are. */
  readonly haveMoved: boolean;
  /** Refused since the last look. */
  readonly rejections: readonly { readonly pod: string; readonly reason: string }[];
}

export interface PodWatch {
  /** At the last look. */
  pods(): PodsState;
  /** Now, without a look. */
  podsNow(): PodsState;
  healthOf: HealthOf;
  credentialsOf: CredentialsOf;
  /** Every table that a pod runs, as it said last. */
  running(): readonly TableVersion[];
  look(): PodNews;
  /** Providers whose health, or whose credential exchanges, have changed since the last call; by `Kind/namespace/name`. */
  changedHealth(verdicts: Verdicts['routing']): string[];
  /** The object is gone. */
  forget(key: string): void;
}

/** @param epochFloor As the publisher gives it, asked at each look. */
export function createPodWatch(cluster: Cluster, exchange: Exchange, epochFloor: () => number): PodWatch {
  const podsNow = () =>
    podsState(cluster.readyGatewayPods(), exchange.answers(), epochFloor(), cluster.areGatewayPodsKnown());
  let pods = podsNow();
  let healthOf: HealthOf = () => undefined;
  let credentialsOf: CredentialsOf = () => undefined;
  /** Of each Provider, in words. */
  const known = new Map<string, string>();

  return {
    pods: () => pods,
    podsNow,
    healthOf: (verdict) => healthOf(verdict),
    credentialsOf: (verdict) => credentialsOf(verdict),
    running: () => [...exchange.answers().values()].flatMap(({ response }) => response?.table ?? []),
    look() {
      const earlier = pods;
      const ready = cluster.readyGatewayPods();
      const answers = exchange.answers();
      pods = podsNow();
      healthOf = indexHealth(ready, answers);
      credentialsOf = indexCredentials(ready, answers);
      return {
        haveMoved:
          pods.generationOfAll !== earlier.generationOfAll ||
          pods.ready !== earlier.ready ||
          pods.areKnown !== earlier.areKnown,
        rejections: newRejections(earlier, pods),
      };
    },
    changedHealth(verdicts) {
      const changed: string[] = [];
      for (const [key, verdict] of verdicts) {
        // Providers come first.
        if (verdict.kind !== 'Provider') break;
        const words = `${describeHealth(healthOf(verdict))} ${JSON.stringify(credentialsOf(verdict) ?? '')}`;
        if (known.get(key) !== words) changed.push(key);
        known.set(key, words);
      }
      return changed;
    },
    forget: (key) => void known.delete(key),
  };
}

function newRejections(earlier: PodsState, now: PodsState): PodNews['rejections'] {
  const known = new Map(earlier.pods.map(({ name, rejected }) => [name, rejected]));
  return now.pods.flatMap(({ name, rejected }) =>
    rejected === undefined || known.get(name) === rejected ? [] : [{ pod: name, reason: rejected }],
  );
}

function describeHealth(health: ProviderHealth | undefined): string {
  return health === undefined
    ? ''
    : JSON.stringify({
        ...health,
        failing: [...health.failing],
        calls: [],
        unknownModels: [...health.unknownModels].sort(),
        keys: [...health.keys],
        answeredKeys: [...health.answeredKeys].sort(),
        // The time of the next try changes every few seconds, which is not news.
        troubles: health.troubles.map(({ pods, ...trouble }) => [trouble, pods.map(({ name }) => name)]),
      });
}
