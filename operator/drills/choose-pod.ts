// Chooses the gateway pod of a drill: the same one for the same pods, and different ones for different routes.

import { hash } from 'node:crypto';
import { DRILL_ORDERS_MAX } from '../../core/contract/exchange.ts';
import type { PodAnswers } from '../pods/pods-state.ts';
import type { GatewayPod } from '../watch/gateway-pods.ts';

/**
 * Pods that answer, know drills, and run at least that table.
 *
 * @param epochFloor Tables of a lower epoch are of another history.
 */
export function ablePods(
  pods: readonly GatewayPod[],
  answers: PodAnswers,
  generation: number,
  epochFloor: number,
): readonly GatewayPod[] {
  return pods.filter(({ uid }) => {
    const { response, failure } = answers.get(uid) ?? {};
    const { table, drills } = response ?? {};
    const runsIt = table !== undefined && table.epoch >= epochFloor && table.generation >= generation;
    return failure === undefined && drills !== undefined && runsIt;
  });
}

/** Undefined if every pod has its maximum of orders. */
export function choosePod(
  able: readonly GatewayPod[],
  route: string,
  ordersAt: (uid: string) => number,
): GatewayPod | undefined {
  const free = able.filter(({ uid }) => ordersAt(uid) < DRILL_ORDERS_MAX);
  const rank = ({ uid }: GatewayPod): string => hash('sha256', `${route} ${uid}`, 'hex');
  return free.toSorted((a, b) => (rank(a) < rank(b) ? -1 : 1))[0];
}
