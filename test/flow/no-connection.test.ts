// What if no connection comes about, or one to somebody else? In four dialects, streamed and plain: the next provider answers, the
// ledger says why, and nothing was sent to any other server.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { makeCertificate } from '../core/egress/certificates.ts';
import { type FullPort, fullPort } from '../support/full-port.ts';
import { startTlsFront } from '../support/tls-front.ts';
import { ask, textOf, wallText } from './ask.ts';
import { nativeVariants } from './fault-matrix.ts';
import { modes } from './faults.ts';
import { inHouse } from './house.ts';
import { answeredByNext, badOnes, ca, refusedCertificate } from './no-connection.ts';

const variants = nativeVariants.flatMap((variant) =>
  modes.map((mode) => ({ name: `${variant.name}, ${mode}`, variant, mode })),
);

let full: FullPort;
beforeAll(async () => {
  full = await fullPort();
});
afterAll(() => full.close());

describe.concurrent.each(variants)('$name', ({ variant, mode }) => {
  test(
    'an unanswered SYN: the next provider answers, once, after the connect timeout',
    inHouse(async (house) => {
      const unanswered = { baseUrl: `${full.url}/v1`, connectMs: 400, failure: 'connect_timeout' };
      expect(await answeredByNext(house, variant, mode, unanswered)).toBe(1);
    }),
  );

  test(
    'the name of the provider cannot be resolved: the next one answers',
    inHouse(async (house) => {
      const nameless = { baseUrl: 'http://no-such-host.invalid/v1', failure: 'dns_failed' };
      expect(await answeredByNext(house, variant, mode, nameless)).toBeGreaterThan(0);
    }),
  );

  test.each(badOnes)(
    'a certificate $what: not a byte of the request is sent',
    inHouse(async (house, bad) => {
      expect(await refusedCertificate(house, variant, mode, bad)).toBeGreaterThan(0);
    }),
  );
});

test(
  'after the certificate is corrected, the same provider answers',
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
