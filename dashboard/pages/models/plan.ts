// What is in the gateway's plan for a request? Which providers it names depends on the rights of the person.

import { type DialectName, RATES } from '../words/choices.ts';
import type { Verdict } from './catalog.ts';

export interface Plan {
  readonly generation: number;
  readonly pod?: string;
  readonly model: string;
  readonly dialect: DialectName;
  readonly route?: { readonly namespace: string; readonly name: string };
  readonly targets: readonly PlanTarget[];
  readonly limits?: PlanLimits;
  readonly estimate?: {
    readonly inputTokens: number;
    readonly outputTokensMax?: number;
    readonly costPicodollars?: number;
    readonly isProvisioned?: true;
    readonly costPicodollarsMax?: number;
    readonly isOfExample?: boolean;
  };
  readonly refusal?: { readonly status: number; readonly code: string; readonly message: string };
}

interface PlanTarget {
  readonly order: number;
  readonly isOwn?: boolean;
  readonly priority?: number;
  /** From 0 to 1. */
  readonly share?: number;
  readonly verdict: Verdict;
  readonly lostFields: readonly string[];
  readonly state: 'wouldBeTried' | 'wouldBeSkipped';
  readonly reasons: readonly string[];
  readonly name?: string;
  readonly provider?: string;
  readonly upstreamModel?: string;
  readonly endpoint?: string;
  readonly providerKey?: string;
  readonly upstreamDialect?: string;
}

interface PlanLimits {
  readonly sharedBy?: number;
  readonly rates?: readonly {
    readonly of: string;
    readonly name: string;
    readonly remaining: number;
    /** Each limit as the member that says over how long. */
    readonly [window: string]: string | number;
  }[];
  readonly concurrency?: readonly {
    readonly of: string;
    readonly limit: number;
    readonly underWay: number;
  }[];
  readonly budgets?: readonly {
    readonly of: string;
    readonly period: string;
    readonly limitUsd: string;
    readonly remainingUsd: string;
  }[];
}

const owners: Readonly<Record<string, string>> = {
  apiKey: 'the key',
  model: 'the model',
  namespace: 'the namespace',
};

interface LimitWords {
  readonly what: string;
  readonly left: string;
}

/** Each limit in one line: its owner, and what remains. */
export function limitLines(
  { rates = [], concurrency = [], budgets = [] }: PlanLimits,
  formats: { number(value: number): string; money(usd: string): string },
): readonly LimitWords[] {
  return [
    ...rates.flatMap(({ of, name, remaining, ...limits }) => {
      const rate = RATES.find((one) => one.name === name);
      if (rate === undefined) return [];
      const [left, limit] = [Math.max(0, Math.floor(remaining)), Number(limits[rate.window])];
      return {
        what: `${rate.label} of ${owners[of] ?? of}`,
        left: `${formats.number(left)} of ${formats.number(limit)} left`,
      };
    }),
    ...concurrency.map(({ of, limit, underWay }) => ({
      what: `Concurrent requests of ${owners[of] ?? of}`,
      left: `${formats.number(underWay)} of ${formats.number(limit)} in flight`,
    })),
    ...budgets.map(({ of, period, limitUsd, remainingUsd }) => ({
      what: `Budget of ${owners[of] ?? of} (${period.toLowerCase()})`,
      left: `${formats.money(remainingUsd)} of ${formats.money(limitUsd)} left`,
    })),
  ];
}

/** Picodollars as dollars. */
export function usdOf(picodollars: number): string {
  return (picodollars / 1e12).toFixed(12);
}

/** @throws Error in words, where the text is no JSON object. */
export function parseBody(text: string): Readonly<Record<string, unknown>> | undefined {
  if (text.trim() === '') return undefined;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new Error(`Not valid JSON: ${(error as Error).message}`);
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new Error('Enter a JSON object.');
  return value as Readonly<Record<string, unknown>>;
}
