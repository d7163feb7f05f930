// What does a user see of an object with kubectl: its columns, what `describe` says, and its events?

import { z } from 'zod';
import { listAll } from '../../../core/kube/list.ts';
import { collectionPath, events as eventResource } from '../../../core/kube/paths.ts';
import type { ControlPlane } from '../../cluster/control-plane.ts';
import { until } from '../../support/until.ts';

/** @param ref such as `modelroute/small`. */
export function columnsOf(plane: ControlPlane, ref: string, namespace: string): Promise<string> {
  return plane.mustKubectl(['get', ref, `--namespace=${namespace}`, '--output=wide', '--no-headers']);
}

export function describedBy(plane: ControlPlane, ref: string, namespace: string): Promise<string> {
  return plane.mustKubectl(['describe', ref, `--namespace=${namespace}`]);
}

const eventSchema = z.object({
  type: z.string(),
  reason: z.string(),
  note: z.string(),
  series: z.object({ count: z.number() }).optional(),
});

export interface ReportedEvent {
  readonly type: string;
  readonly reason: string;
  readonly note: string;
  /** How often it came. */
  readonly count: number;
}

/**
 * Of one object, sorted by reason. Events are written after the statuses that they tell of, one after the other in the order
 * of those: waits until there is one with this reason, and with it all that came before.
 */
export async function eventsOf(
  plane: ControlPlane,
  object: { readonly kind: string; readonly namespace: string; readonly name: string },
  reason: string,
): Promise<ReportedEvent[]> {
  const reported = await until(async () => {
    const events = await eventsNow(plane, object);
    return events.some((event) => event.reason === reason) && events;
  });
  return reported.sort((a, b) => (a.reason < b.reason ? -1 : Number(a.reason > b.reason)));
}

export async function eventsNow(
  plane: ControlPlane,
  object: { readonly kind: string; readonly namespace: string; readonly name: string },
): Promise<ReportedEvent[]> {
  const fieldSelector = `regarding.kind=${object.kind},regarding.name=${object.name}`;
  const path = collectionPath(eventResource, object.namespace);
  const { items } = await listAll({ client: plane.client, path, query: { fieldSelector } });
  return items.map((item): ReportedEvent => {
    const { series, ...event } = eventSchema.parse(item);
    return { ...event, count: series?.count ?? 1 };
  });
}
