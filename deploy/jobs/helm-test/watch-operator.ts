// Does the operator work? A served table does not prove it, since gateways serve without one. So each ready gateway must get a
// heartbeat, which the leader writes every 10 s.

import { lookup } from 'node:dns/promises';

const ageMetric = /^penstock_config_age_seconds (\S+)$/m;

/**
 * Watches from now on.
 *
 * @param metricsUrl Its host leads to all gateways that are ready.
 * @returns to be called until it does not throw any more.
 */
export function watchOperator(metricsUrl: string): () => Promise<void> {
  const startMs = performance.now();
  const agesBefore = new Map<string, number>();
  const heard = new Set<string>();
  return async () => {
    const { hostname } = new URL(metricsUrl);
    // Each, not one of them: what the operator publishes must come to all.
    const addresses = await lookup(hostname, { all: true });
    const silent: string[] = [];
    for (const { address, family } of addresses) {
      if (heard.has(address)) continue;
      const url = new URL(metricsUrl);
      url.hostname = family === 6 ? `[${address}]` : address;
      const watchedSeconds = (performance.now() - startMs) / 1_000;
      const age = await readAge(url.href);
      if (age === undefined) {
        silent.push(`gateway ${address} has never heard of an operator`);
        continue;
      }
      // The clock of the operator may be behind that of the gateway; an age that falls is a sign of life all the same.
      const isHeard = age <= watchedSeconds || age < (agesBefore.get(address) ?? 0);
      agesBefore.set(address, age);
      if (isHeard) heard.add(address);
      else silent.push(`gateway ${address} heard of an operator ${Math.round(age)} s ago`);
    }
    if (silent.length > 0) throw new Error(`${silent.join(', ')}; ${wayOut}`);
  };
}

const wayOut = 'what is applied does not come into service: look at the pods and the log of the operator';

async function readAge(url: string): Promise<number | undefined> {
  const response = await fetch(url, { signal: AbortSignal.timeout(10_000) });
  const text = await response.text();
  if (!response.ok) throw new Error(`GET ${url} answered ${response.status}`);
  const age = ageMetric.exec(text)?.[1];
  return age === undefined ? undefined : Number(age);
}
