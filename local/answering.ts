// Does a model answer? Its Providers are asked for their lists of models, as *Test connection* does: no tokens are paid for. Providers that
// list none, such as those of clouds, count as soon as they accept a connection: their sign-in is not tested.

import type { Clock } from '../core/clock.ts';
import { checkConnection } from '../gateway/check/check-connection.ts';
import type { ProviderView, RouteView, TableView } from '../gateway/table/view.ts';

/** For all of them together: a start waits no longer for Providers that hang. */
const patienceMs = 2_000;

/** @returns whether a Provider of the route answers, each asked once. */
export function openAnswering(view: TableView, clock: Clock): (route: RouteView) => Promise<boolean> {
  const endMs = clock.now() + patienceMs;
  const asked = new Map<ProviderView, Promise<boolean>>();
  const ask = async (provider: ProviderView): Promise<boolean> => {
    const { namespace, entry } = provider;
    const name = entry.id.slice(entry.id.indexOf('/') + 1);
    const { outcome } = await checkConnection(view, clock, { namespace, provider: name });
    return outcome === 'works' || outcome === 'odd';
  };
  return async ({ targets }) => {
    const used = targets.filter(({ entry }) => entry.weight > 0).map(({ provider }) => provider);
    for (const provider of used) if (!asked.has(provider)) asked.set(provider, ask(provider));
    const late = Promise.withResolvers<boolean>();
    const cancelTimer = clock.setTimer(Math.max(0, endMs - clock.now()), () => late.resolve(false));
    const answers = used.map(async (provider) => {
      if (!(await asked.get(provider))) throw new Error(`${provider.entry.id} does not answer`);
      return true;
    });
    return await Promise.race([Promise.any(answers).catch(() => false), late.promise]).finally(cancelTimer);
  };
}
