// What if no connection comes about, or one to somebody else? In four dialects, streamed and plain: the next provider answers, the
// ledger says why, and nothing was sent to whoever is not the provider.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { DialectName, ProviderEntry } from '../../gateway/contract/routing-table.ts';
import { badCertificates } from '../egress/bad-certificates.ts';
import { makeCertificate } from '../egress/certificates.ts';
import { type FullPort, fullPort } from '../support/full-port.ts';
import { startTlsFront } from '../support/tls-front.ts';
import { ask, type Endpoint, endsWell, lineOf, textOf, wallText } from './ask.ts';
import { type House, inHouse } from './house.ts';

const ca = makeCertificate({ name: 'test authority', isCa: true });
const variants = (
  [
    ['chat', 'openai-chat'],
    ['completions', 'openai-completions'],
    ['messages', 'anthropic-messages'],
    ['responses', 'openai-responses'],
  ] satisfies [Endpoint, DialectName][]
).flatMap(([endpoint, dialect]) =>
  [true, false].map((isStream) => ({
    name: `${endpoint}, ${isStream ? 'streamed' : 'plain'}`,
    endpoint,
    dialect,
    isStream,
  })),
);
type Variant = (typeof variants)[number];

let full: FullPort;
beforeAll(async () => {
  full = await fullPort();
});
afterAll(() => full.close());

/** The provider at this address is first, and another one answers. Gives the records, a line each. */
async function answeredByNext(
  house: House,
  { endpoint, dialect, isStream }: Variant,
  baseUrl: string,
  { connectMs = 30_000, ...providerEntry }: Partial<ProviderEntry> & { connectMs?: number } = {},
): Promise<string[]> {
  const second = await house.wallThat({ type: 'answer' });
  const dialects = [dialect];
  const rig = await house.rigOf([
    { baseUrl, dialects, providerEntry, timeouts: { connectMs } },
    { baseUrl: second.baseUrl, dialects },
  ]);
  const seen = await ask(rig, { endpoint, isStream });
  expect([seen.status, textOf(seen)]).toEqual([200, wallText]);
  if (isStream) expect(endsWell(seen)).toBe(true);
  expect(seen.headers['x-penstock-provider']).toBe('platform/p1');
  expect(second.calls).toHaveLength(1);
  return rig.records.map(lineOf);
}

describe.concurrent.each(variants)('$name', (variant) => {
  test(
    'nobody answers the SYN: the next provider does, after the time for a connection and once',
    inHouse(async (house) => {
      expect(await answeredByNext(house, variant, `${full.url}/v1`, { connectMs: 400 })).toEqual([
        '1 t0 failed connect_timeout platform',
        '2 t1 answered tenant',
      ]);
    }),
  );

  test(
    'the name of the provider cannot be resolved: the next one answers',
    inHouse(async (house) => {
      const records = await answeredByNext(house, variant, 'http://no-such-host.invalid/v1');
      expect(records.at(-1)).toMatch(/t1 answered tenant$/);
      expect(new Set(records.slice(0, -1).map(withoutNumber))).toEqual(
        new Set(['t0 failed dns_failed platform']),
      );
    }),
  );

  test.each(badCertificates(ca))(
    'a certificate $what: not a byte of the request is sent',
    inHouse(async (house, { certificate }) => {
      const first = await house.wallThat({ type: 'answer' });
      const { cert, key } = makeCertificate(certificate);
      const front = await startTlsFront(first.port, { cert, key });
      house.onClose(() => front.close());
      const records = await answeredByNext(house, variant, `https://127.0.0.1:${front.port}/v1`, {
        tls: { ca: ca.cert, serverName: 'api.example' },
      });
      expect(records.at(-1)).toMatch(/t1 answered tenant$/);
      expect(new Set(records.slice(0, -1).map(withoutNumber))).toEqual(
        new Set(['t0 failed tls_failed platform']),
      );
      expect(first.calls).toHaveLength(0);
    }),
  );
});

test(
  'with a certificate that proves the name the same provider answers',
  inHouse(async (house) => {
    const wall = await house.wallThat({ type: 'answer' });
    const { cert, key } = makeCertificate({ name: 'api.example', dnsNames: ['api.example'], issuer: ca });
    const front = await startTlsFront(wall.port, { cert, key });
    house.onClose(() => front.close());
    const tls = { ca: ca.cert, serverName: 'api.example' };
    const rig = await house.rigOf([
      { baseUrl: `https://127.0.0.1:${front.port}/v1`, providerEntry: { tls } },
    ]);
    expect(textOf(await ask(rig))).toBe(wallText);
    expect(wall.calls).toHaveLength(1);
  }),
);

function withoutNumber(line: string): string {
  return line.replace(/^\d+ /, '');
}
