// What does this pod tell of its upstreams? What it has learnt, in the words of the exchange. Pure.

import type { UpstreamHealth } from '../../core/contract/exchange.ts';
import type { Answered } from './answered-lately.ts';
import { type Circuit, phaseOf } from './circuit.ts';
import type { CooldownReason } from './cooldown.ts';
import type { KeyAtProvider, KeyCooldowns } from './key-cooldowns.ts';

/** Lines of one report; troubles come first, and the rest is left out. */
export const reportLinesMax = 1_000;

const restStates = {
  'rate-limit': 'rate-limited',
  'out-of-money': 'out-of-money',
  rejected: 'rejected',
} as const satisfies Record<CooldownReason, UpstreamHealth['state']>;

/** All by health id: circuits by that of the provider or the target, the others by that of the key. */
interface Learnt {
  readonly circuits: ReadonlyMap<string, Circuit>;
  readonly coolingDown: ReturnType<KeyCooldowns['coolingDown']>;
  readonly answered: ReadonlyMap<string, Answered>;
}

interface ReportTime {
  readonly nowMs: number;
  /** What makes a time of the clock Unix milliseconds. */
  readonly unixOffsetMs: number;
}

export function reportHealth(
  { circuits, coolingDown, answered }: Learnt,
  { nowMs, unixOffsetMs }: ReportTime,
): readonly UpstreamHealth[] {
  const until = (untilMs: number): { untilMs: number } => ({
    untilMs: Math.max(0, Math.round(untilMs + unixOffsetMs)),
  });
  const phased = [...circuits].map(([id, circuit]) => ({
    id,
    circuit,
    phase: phaseOf(circuit, nowMs),
  }));
  const open = phased.filter(({ phase }) => phase === 'open' || phase === 'half-open');
  const starting = phased.filter(({ phase }) => phase === 'slow-start');
  // A key in cooldown for one model may work for others.
  const silent = new Set([...open.map(({ id }) => id), ...coolingDown.map(([id]) => id)]);
  return [
    ...open.map(({ id, circuit: { openUntilMs, cause }, phase }): UpstreamHealth => {
      const more = phase === 'half-open' ? { phase } : {};
      const why = cause === undefined ? {} : { cause };
      return { ...modelAtProvider(id), state: 'open', ...more, ...why, ...until(openUntilMs) };
    }),
    ...coolingDown.map(
      ([, { at, untilMs, reason }]): UpstreamHealth => ({
        ...at,
        state: restStates[reason],
        ...until(untilMs),
      }),
    ),
    ...starting.map(
      ({ id }): UpstreamHealth => ({ ...modelAtProvider(id), state: 'working', phase: 'slow-start' }),
    ),
    ...[...answered]
      .filter(([id, { address }]) => !silent.has(id) && !silent.has(address))
      .map(
        ([, { provider, key }]): UpstreamHealth => ({ ...keyAtProvider(provider, key), state: 'working' }),
      ),
  ].slice(0, reportLinesMax);
}

/** From the health id of a provider or a target: `provider@address#model`, of which only the model may hold either sign. */
export function modelAtProvider(id: string): { readonly provider: string; readonly upstreamModel?: string } {
  const provider = id.slice(0, id.indexOf('@'));
  const at = id.indexOf('#');
  return at < 0 ? { provider } : { provider, upstreamModel: id.slice(at + 1) };
}

export function keyAtProvider(provider: string, key: string | undefined): KeyAtProvider {
  return key === undefined ? { provider } : { provider, key };
}
