// What becomes of requests whose first provider cannot be reached, or is somebody else? The scenes of no-connection.test.ts, which
// plays each once, and of the long form (fault-stages.ts).

import { expect } from 'vitest';
import type { ProviderEntry } from '../../core/contract/routing-table.ts';
import { type BadCertificate, badCertificates } from '../core/egress/bad-certificates.ts';
import { makeCertificate } from '../core/egress/certificates.ts';
import { startTlsFront } from '../support/tls-front.ts';
import { ask, lineOf } from './ask.ts';
import { expectWhole, type Variant } from './fault-matrix.ts';
import type { Mode } from './faults.ts';
import type { House } from './house.ts';

/** The authority that is trusted. */
export const ca = makeCertificate({ name: 'test authority', isCa: true });
export const badOnes = badCertificates(ca);

/** Nobody is spared a call: each request is to meet the fault. */
const noBreaker = { consecutiveFailures: 0, openForMs: 1, maxOpenMs: 1, rateLimitCooldownMs: 1 };

interface Unreachable extends Partial<ProviderEntry> {
  readonly baseUrl: string;
  /** The ledger's word for it. */
  readonly failure: string;
  readonly connectMs?: number;
  readonly times?: number;
}

/** The provider at this address is first, and another one answers, each time. Gives how often the first one was tried. */
export async function answeredByNext(
  house: House,
  { endpoint, upstream }: Variant,
  mode: Mode,
  { baseUrl, failure, connectMs = 30_000, times = 1, ...entry }: Unreachable,
): Promise<number> {
  const second = await house.wallThat({ type: 'answer' });
  const dialects = [upstream];
  const providerEntry = { breaker: noBreaker, ...entry };
  const rig = await house.rigOf([
    { baseUrl, dialects, providerEntry, timeouts: { connectMs } },
    { baseUrl: second.baseUrl, dialects },
  ]);
  for (let n = 0; n < times; n++) {
    const seen = await ask(rig, { endpoint, isStream: mode === 'stream' });
    expectWhole(seen, mode);
    expect(seen.headers['x-penstock-provider']).toBe('platform/p1');
  }
  expect(second.calls).toHaveLength(times);
  const lines = rig.records.map((record) => lineOf(record).replace(/^\d+ /, ''));
  const answered = lines.filter((line) => line === 't1 answered tenant');
  const failed = lines.filter((line) => line === `t0 failed ${failure} platform`);
  expect([answered.length, failed.length]).toEqual([times, lines.length - times]);
  return failed.length;
}

/** Behind a certificate that does not prove its name is a provider that would answer. */
export async function refusedCertificate(
  house: House,
  variant: Variant,
  mode: Mode,
  { certificate }: BadCertificate,
  times?: number,
): Promise<number> {
  const first = await house.wallThat({ type: 'answer' });
  const { cert, key } = makeCertificate(certificate);
  const front = await startTlsFront(first.port, { cert, key });
  house.onClose(() => front.close());
  const tried = await answeredByNext(house, variant, mode, {
    baseUrl: `https://127.0.0.1:${front.port}/v1`,
    failure: 'tls_failed',
    tls: { ca: ca.cert, serverName: 'api.example' },
    ...(times !== undefined && { times }),
  });
  expect(first.calls, 'not a byte of a request was sent').toHaveLength(0);
  return tried;
}
