// Which faults of providers need more than one call and a wall that behaves? The other half of the matrix (faults.ts), each a scene
// that is played many times over, in every dialect, streamed and plain. `npm test` plays them once (the tests beside the scenes);
// `npm run e2e -- fault-stages` as often as is said here.

import { expect } from 'vitest';
import { fullPort } from '../support/full-port.ts';
import type { StreamSegment } from '../support/wall/behaviour.ts';
import { allDown, callsOf, reportedAtOnce } from './all-down.ts';
import { ask, lineOf } from './ask.ts';
import { expectBrokenOff, expectReported, expectWhole, type Variant } from './fault-matrix.ts';
import type { Mode } from './faults.ts';
import type { House } from './house.ts';
import { answeredByNext, badOnes, refusedCertificate } from './no-connection.ts';
import { replacedConnections } from './replaced-connections.ts';
import { minuteWithoutNames } from './resolver-down.ts';
import { replacedUnderLoad } from './rotated-keys.ts';
import { vanish } from './vanish.ts';

export interface FaultStage {
  readonly fault: string;
  /** How often each dialect meets it, streamed and plain. */
  readonly times: number;
  /** 99 of 100 take less. */
  readonly limitMs?: number;
  /** @throws where anything is not as it should be. */
  play(house: House, variant: Variant, mode: Mode, times: number): Promise<Played>;
}

export interface Played {
  /** How often the fault has happened. */
  readonly fired: number;
  readonly tookMs?: readonly number[];
}

export const faultStages: readonly FaultStage[] = [
  {
    fault: 'a kept connection dies as it is used again (F8)',
    times: 1_250,
    play: async (house, variant, mode, times) => ({
      fired: await replacedConnections(house, variant, mode, times),
    }),
  },
  {
    fault: 'nobody answers the SYN (F9)',
    times: 5,
    async play(house, variant, mode, times) {
      const full = await fullPort();
      house.onClose(() => full.close());
      const unanswered = { baseUrl: `${full.url}/v1`, connectMs: 400, failure: 'connect_timeout', times };
      return { fired: await answeredByNext(house, variant, mode, unanswered) };
    },
  },
  ...badOnes.map(
    (bad): FaultStage => ({
      fault: `a certificate ${bad.what} (F10)`,
      times: 20,
      play: async (house, variant, mode, times) => ({
        fired: await refusedCertificate(house, variant, mode, bad, times),
      }),
    }),
  ),
  {
    fault: 'a name that cannot be resolved (F11)',
    times: 20,
    async play(house, variant, mode, times) {
      const nameless = { baseUrl: 'http://no-such-host.invalid/v1', failure: 'dns_failed', times };
      return { fired: await answeredByNext(house, variant, mode, nameless) };
    },
  },
  {
    fault: 'the resolver is dead for a minute, of a provider in use (F11)',
    times: 120,
    play: async (house, variant, mode, times) => ({
      fired: await minuteWithoutNames(house, variant, mode, times),
    }),
  },
  ...([['end'], ['usage', 'end']] as const).map(
    (omit): FaultStage => ({
      fault: `no ${omit.join(' and no ')} after the content: how late is the caller's own (F15)`,
      times: 200,
      limitMs: 50,
      play: (house, variant, mode, times) => endedWithout(omit, house, variant, mode, times),
    }),
  ),
  {
    fault: 'all providers are down (F19)',
    times: 100,
    async play(house, { endpoint, upstream }, mode, times) {
      const asked = { endpoint, isStream: mode === 'stream' };
      const stage = await allDown(house, asked, upstream);
      // The one that is tried in this second.
      expect((await ask(stage.rig, asked)).status).toBe(502);
      await reportedAtOnce(stage, asked, times);
      return { fired: callsOf(stage.walls).reduce((sum, calls) => sum + calls, 0) };
    },
  },
  {
    fault: 'the caller leaves: how late its upstream sees it (F41)',
    times: 125,
    limitMs: 250,
    async play(house, { endpoint }, mode, times) {
      const { noticeMs, records } = await vanish(house, times, { endpoint, isStream: mode === 'stream' });
      expect(new Set(records.map(lineOf))).toEqual(new Set(['1 t0 cancelled tenant']));
      return { fired: noticeMs.length, tookMs: noticeMs };
    },
  },
  {
    fault: 'a key is replaced, and the old one refused at once (F43)',
    times: 50,
    async play(house, { endpoint }, mode, times) {
      const callers = Array.from({ length: 4 }, () => ({ endpoint, isStream: mode === 'stream' }));
      return { fired: await replacedUnderLoad(house, callers, times) };
    },
  },
];

/**
 * What tells of the end is not sent. In responses that is all there is, and a cut answer; elsewhere the reason has been given before it,
 * and the answer is whole. How long after the provider has ended has its caller an end too? Plain answers are fetched as streams.
 */
async function endedWithout(
  omit: readonly StreamSegment[],
  house: House,
  { endpoint, upstream }: Variant,
  mode: Mode,
  times: number,
): Promise<Played> {
  const wall = await house.wallThat({ type: 'answer', omit });
  const breaker = { consecutiveFailures: 0, openForMs: 1, maxOpenMs: 1, rateLimitCooldownMs: 1 };
  const target = { dialects: [upstream], baseUrl: wall.baseUrl, providerEntry: { breaker } };
  const rig = await house.rigOf([target], { upstreamStreaming: 'Always' });
  const tookMs: number[] = [];
  for (let n = 0; n < times; n++) {
    const seen = await ask(rig, { endpoint, isStream: mode === 'stream' });
    if (upstream !== 'openai-responses') expectWhole(seen, mode);
    else if (mode === 'stream') expectBrokenOff(seen, 'upstream_error');
    else expectReported(seen, { status: 502, code: 'upstream_invalid_response' });
    const call = wall.calls.at(-1);
    await call?.finished;
    if (call?.endedAtMs === undefined) throw new Error('the provider was not asked, or has not ended');
    tookMs.push(seen.endedAtMs - call.endedAtMs);
  }
  expect(wall.calls).toHaveLength(times);
  return { fired: wall.calls.length, tookMs };
}
