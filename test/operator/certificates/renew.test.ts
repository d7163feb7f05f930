// Which certificates are made when, over years? And does a strict reader take them?

import { X509Certificate } from 'node:crypto';
import { expect, test } from 'vitest';
import { GATEWAY_SERVER_NAME, ledgerServerNames } from '../../../core/contract/internal-tls.ts';
import type { Stored } from '../../../operator/certificates/plan.ts';
import { renewCertificates } from '../../../operator/certificates/renew.ts';

const startMs = Date.parse('2030-01-01T00:00:00Z');
const minute = 60_000;
const day = 86_400_000;
const serverNames = { gateway: [GATEWAY_SERVER_NAME], ledger: ledgerServerNames('penstock', 'ai') };
const nothing: Stored = {
  authority: undefined,
  trusted: [],
  leaves: { gateway: undefined, ledger: undefined },
};

const look = (stored: Stored, nowMs: number) => renewCertificates(stored, serverNames, 'penstock', nowMs);

/** Looks at every moment in turn. Gives what was made at each, and what is stored at the end. */
async function lookAt(moments: readonly number[], stored: Stored = nothing) {
  const made: (readonly string[])[] = [];
  for (const moment of moments) {
    const renewed = await look(stored, startMs + moment);
    made.push(renewed.made);
    stored = renewed.stored;
  }
  return { made, stored };
}

test('the first run makes an authority and the certificates of gateways and ledger, and the next run nothing', async () => {
  const { made, stored } = await lookAt([0, minute]);
  expect(made).toEqual([['authority', 'gateway', 'ledger'], []]);
  expect(stored.trusted).toEqual([stored.authority?.certificate]);
});

test('a certificate is renewed after a third of its life, by the same authority', async () => {
  const { made, stored } = await lookAt([0, 29 * day, 31 * day]);
  expect(made).toEqual([['authority', 'gateway', 'ledger'], [], ['gateway', 'ledger']]);
  expect(stored.trusted).toHaveLength(1);
});

test('a certificate of a new authority is used only after all trust it, and the old authority is removed last', async () => {
  const due = 366 * day;
  const first = await lookAt([0, 340 * day]);
  const announced = await lookAt([due, due + 9 * minute], first.stored);
  expect(announced.made).toEqual([['authority'], []]);
  expect(announced.stored.leaves).toEqual(first.stored.leaves);
  expect(announced.stored.trusted).toEqual([
    announced.stored.authority?.certificate,
    first.stored.authority?.certificate,
  ]);
  const moved = await lookAt([due + 10 * minute, due + 19 * minute], announced.stored);
  expect(moved.made).toEqual([['gateway', 'ledger'], []]);
  expect(moved.stored.trusted).toHaveLength(2);
  const over = await lookAt([due + 20 * minute], moved.stored);
  expect(over.made).toEqual([[]]);
  expect(over.stored.trusted).toEqual([announced.stored.authority?.certificate]);
});

test('after 40 days without an operator, a valid certificate waits until all trust the new authority', async () => {
  const first = await lookAt([0, 340 * day]);
  const due = 380 * day;
  const late = await lookAt([due, due + 9 * minute, due + 10 * minute], first.stored);
  expect(late.made).toEqual([['authority'], [], ['gateway', 'ledger']]);
});

test('after years without an operator everything is made again', async () => {
  const first = await lookAt([0]);
  const late = await lookAt([800 * day], first.stored);
  expect(late.made).toEqual([['authority', 'gateway', 'ledger']]);
  expect(late.stored.trusted).toHaveLength(1);
});

test.each(['certificate', 'key'] as const)(
  'a damaged %s is replaced, and so is one of other names',
  async (part) => {
    const { stored } = await lookAt([0]);
    const { ledger } = stored.leaves;
    if (ledger === undefined) throw new Error('none was made');
    const damaged = { ...stored, leaves: { ...stored.leaves, ledger: { ...ledger, [part]: 'nonsense' } } };
    expect((await lookAt([minute], damaged)).made).toEqual([['ledger']]);
    const moved = { ...serverNames, ledger: ledgerServerNames('penstock', 'other') };
    expect((await renewCertificates(stored, moved, 'penstock', startMs)).made).toEqual(['ledger']);
  },
);

test('a key of another certificate is replaced', async () => {
  const { stored } = await lookAt([0]);
  const { gateway, ledger } = stored.leaves;
  if (gateway === undefined || ledger === undefined) throw new Error('none was made');
  const mixed = { ...stored, leaves: { gateway: { ...gateway, key: ledger.key }, ledger } };
  expect((await lookAt([minute], mixed)).made).toEqual([['gateway']]);
});

test('a certificate has its names, its usages and the key of its signer', async () => {
  const { stored } = await lookAt([0]);
  const authority = new X509Certificate(stored.authority?.certificate ?? '');
  const ledger = new X509Certificate(stored.leaves.ledger?.certificate ?? '');
  expect(authority.ca).toBe(true);
  expect(authority.verify(authority.publicKey)).toBe(true);
  expect(ledger.ca).toBe(false);
  expect(ledger.verify(authority.publicKey)).toBe(true);
  expect(ledger.subjectAltName).toBe(
    'DNS:penstock-ledger.ai.svc, DNS:penstock-ledger.ai.svc.cluster.local, DNS:penstock-ledger.ai, DNS:penstock-ledger, DNS:localhost',
  );
  expect(ledger.keyUsage).toEqual(['1.3.6.1.5.5.7.3.1']);
  expect(ledger.checkHost('penstock-gateway.ai.svc')).toBeUndefined();
});
