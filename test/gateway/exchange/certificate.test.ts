// When is a gateway ready that answers operator and ledger over TLS alone? And what does it say before?

import { expect, onTestFinished, test } from 'vitest';
import type { ReadableJournal } from '../../../gateway/meter/journal.ts';
import { renewCertificates } from '../../../operator/certificates/renew.ts';
import { rawCall } from '../../support/raw-client.ts';
import { startWall } from '../../support/wall.ts';
import { type Rig, startRig, tableOf } from '../rig.ts';

const noJournal: ReadableJournal = {
  begin() {},
  append() {},
  flush: async () => {},
  close: async () => {},
  read: async () => undefined,
  onWritten: () => () => {},
};

async function start(hasPlain: boolean, token?: string): Promise<Rig> {
  const wall = await startWall();
  onTestFinished(() => wall.close());
  const exchange = {
    port: 0,
    tlsPort: 0,
    hasPlain,
    journal: noJournal,
    token: () => token,
  };
  const rig = await startRig(tableOf([{ baseUrl: wall.baseUrl }]), { exchange });
  onTestFinished(() => rig.close());
  return rig;
}

async function readiness({ gateway }: Rig): Promise<readonly [number, string]> {
  const { status, text } = await rawCall(
    { port: Number(new URL(gateway.metricsUrl).port) },
    { path: '/readyz' },
  );
  return [status, text];
}

test('without plain HTTP a gateway is ready when its certificate arrives, and says what it waits for', async () => {
  const rig = await start(false, 'of the pointer');
  expect(await readiness(rig)).toEqual([
    503,
    'no certificate for operator and ledger yet: the operator sends it with the routing table; see its log\n',
  ]);
  const nothing = { authority: undefined, trusted: [], leaves: { gateway: undefined, ledger: undefined } };
  const { stored } = await renewCertificates(nothing, { gateway: ['gateway'] }, 'penstock', Date.now());
  if (stored.leaves.gateway !== undefined) rig.gateway.showCertificate(stored.leaves.gateway);
  expect(await readiness(rig)).toEqual([200, 'ok\n']);
});

test('with plain HTTP, as in an upgrade under an earlier operator, it is ready without a certificate', async () => {
  expect((await readiness(await start(true, 'of the pointer')))[0]).toBe(200);
});

test('a container that starts during an outage of the API server serves callers without a certificate', async () => {
  expect((await readiness(await start(false)))[0]).toBe(200);
});
