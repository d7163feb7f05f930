// Was each part at work where it was switched on, and nowhere else? One that does nothing would be measured as free of charge.

import type { Feature } from './parts.ts';

/** Counts of a gateway, seen from outside. */
export type Seen = {
  /** Reservations at limits and budgets, in the middle of a load. */
  held: number;
  /** Answered calls to the store of limits. */
  storeCalls: number;
  journalBytes: number;
  /** Records that the ledger has stored. */
  stored: number;
  /** Requests that the gateway has counted. */
  requests: number;
  /** Exports that the collector has taken. */
  metricExports: number;
  traceExports: number;
};

const signs: readonly { sign: keyof Seen; of: readonly Feature[] }[] = [
  { sign: 'held', of: ['limits', 'budgets'] },
  { sign: 'storeCalls', of: ['limit-store'] },
  { sign: 'journalBytes', of: ['journal'] },
  { sign: 'stored', of: ['ledger'] },
  { sign: 'requests', of: ['metrics'] },
  { sign: 'metricExports', of: ['collection'] },
  { sign: 'traceExports', of: ['traces'] },
];

/** Sentences about what does not fit; none where all is as it was switched. */
export function findIdle(features: readonly Feature[], seen: Seen): string[] {
  return signs.flatMap(({ sign, of }) => {
    const isOn = of.some((feature) => features.includes(feature));
    if (isOn === seen[sign] > 0) return [];
    return [`${of.join(' and ')} switched ${isOn ? 'on' : 'off'}, and ${sign} is ${seen[sign]}`];
  });
}

/** The sum of a metric over its labels; 0 where it has no value. @param text as Prometheus scrapes it. */
export function sumOf(text: string, name: string): number {
  return text
    .split('\n')
    .filter((line) => line.startsWith(`${name} `) || line.startsWith(`${name}{`))
    .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0);
}
