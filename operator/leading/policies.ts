// Statuses of TenantPolicies in a term: validity, number of namespaces, whether every pod runs them, and the spend of their budgets.

import { isConflict, isNotFound } from '../../core/kube/client.ts';
import { applyStatus } from '../../core/kube/patch.ts';
import { objectPath } from '../../core/kube/paths.ts';
import { createQueue, type WorkQueue } from '../loop.ts';
import { API_GROUP, API_VERSION } from '../resources/metadata.ts';
import { tenantPolicyResource, tenantPolicyStatusIn } from '../resources/tenant-policy.ts';
import { decidePolicyStatus } from '../status/decide-policy-status.ts';
import { recordedGeneration } from '../status/programmed.ts';
import type { CheckedPolicy } from '../watch/snapshot.ts';
import { checkMs, type TermParts } from './parts.ts';
import type { LedPods } from './pods.ts';
import type { Spending } from './spending.ts';
import type { PublishedRun } from './verdict-book.ts';

interface Parts extends Pick<TermParts, 'cluster' | 'client' | 'clock' | 'queue' | 'log' | 'settings'> {
  readonly pods: Pick<LedPods, 'pods'>;
  readonly spending: Pick<Spending, 'ofNamespace'>;
}

interface LedPolicies {
  readonly queue: WorkQueue;
  published(run: PublishedRun): void;
  /** By this operator, or by another one. */
  statusChanged(name: string): void;
  lookAtAll(): void;
}

interface Known {
  readonly policy: CheckedPolicy;
  readonly since: number;
  /** When this form was met. */
  readonly metMs: number;
}

const { kind, plural } = tenantPolicyResource;
const resource = { group: API_GROUP, version: API_VERSION, plural };
/** Until a watch that is behind is asked again. */
const behindMs = 2_000;
/** Operators of several releases write the same object: each answers the other no sooner. */
const othersMs = 60_000;

export function createPolicies(parts: Parts): LedPolicies {
  const { cluster, client, clock, pods, spending, log } = parts;
  const { instance, networkPolicyRanges } = parts.settings;
  let known: ReadonlyMap<string, Known> = new Map();
  const queue = createQueue({ ...parts.queue, name: 'policies', workers: 1, run });

  return {
    queue,
    published({ policies, generation }) {
      const before = known;
      known = new Map(
        policies.map((policy) => {
          const { name } = policy.object.metadata;
          const last = before.get(name);
          if (last?.policy === policy) return [name, last];
          const since = Math.min(last === undefined ? recordedOf(name, generation) : generation, generation);
          return [name, { policy, since, metMs: clock.wallMs() }];
        }),
      );
      lookAtAll();
    },
    statusChanged: (name) => queue.addAfter(name, othersMs),
    lookAtAll,
  };

  /** The generation that this release recorded. Another release of the chart has its own table, so its number means nothing here. */
  function recordedOf(name: string, generation: number): number {
    const object = cluster.policy(name);
    const writer = tenantPolicyStatusIn(object?.status)?.instance ?? instance;
    return (object && writer === instance ? recordedGeneration(object) : undefined) ?? generation;
  }

  function lookAtAll(): void {
    for (const name of known.keys()) queue.add(name);
  }

  async function run(name: string, signal: AbortSignal) {
    const [policy, object] = [known.get(name), cluster.policy(name)];
    // A policy of the chart's values has no object. A form that is not published yet is reported by the next publish.
    if (policy === undefined || object === undefined) return;
    if (object.metadata.generation !== policy.policy.object.metadata.generation) return;
    const { namespaces, platform } = cluster.snapshot();
    const nowMs = clock.wallMs();
    const decision = decidePolicyStatus({
      instance,
      policy: policy.policy,
      present: tenantPolicyStatusIn(object.status),
      since: policy.since,
      pods: pods.pods(),
      namespaces,
      platformNamespaces: platform.platformNamespaces,
      networkPolicyRanges,
      spentOf: spending.ofNamespace(),
      nowMs,
      waitingSinceMs: policy.metMs,
    });
    const afterMs = Math.max(0, Math.min((decision.untilMs ?? Number.POSITIVE_INFINITY) - nowMs, checkMs));
    if (decision.type === 'same') return { afterMs };
    try {
      await applyStatus(
        client,
        objectPath(resource, { name }, 'status'),
        {
          apiVersion: `${API_GROUP}/${API_VERSION}`,
          kind,
          metadata: { name, resourceVersion: object.metadata.resourceVersion },
          status: decision.status,
        },
        { fieldManager: 'penstock', force: true, signal },
      );
      log('info', 'status written', { object: `${kind}/${name}`, since: policy.since });
      return { afterMs };
    } catch (error) {
      if (isNotFound(error)) return;
      if (isConflict(error)) return { afterMs: behindMs };
      throw error;
    }
  }
}
