// Whom does one of our processes believe over TLS, and what does it say of a process that it does not? Over real sockets.

import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../../core/clock.ts';
import { GATEWAY_SERVER_NAME, type InternalTls, wayToGateway } from '../../../core/contract/internal-tls.ts';
import { CallFault, OwnCalls, readBytes } from '../../../core/kube/own-call.ts';
import { buildTlsServer } from '../../../core/kube/own-server.ts';
import type { Stored } from '../../../operator/certificates/plan.ts';
import { renewCertificates } from '../../../operator/certificates/renew.ts';

const minute = 60_000;
const day = 86_400_000;

async function renew(
  stored: Stored | undefined,
  nowMs: number,
): Promise<{ stored: Stored; tls: InternalTls }> {
  const nothing = { authority: undefined, trusted: [], leaves: { gateway: undefined, ledger: undefined } };
  const names = { gateway: [GATEWAY_SERVER_NAME] };
  const renewed = await renewCertificates(stored ?? nothing, names, 'penstock', nowMs);
  const { gateway } = renewed.stored.leaves;
  if (gateway === undefined) throw new Error('none was made');
  return { stored: renewed.stored, tls: { ...gateway, trusted: renewed.stored.trusted.join('') } };
}

async function portOf(
  server: Pick<Server, 'listen' | 'address' | 'close' | 'closeAllConnections'>,
): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server as Server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

/** A pod that answers in plain HTTP and over TLS, and says which it was. */
async function startPod() {
  const plain = createServer((_, response) => response.end('plain'));
  const tls = buildTlsServer((_, response) => response.end('tls'), 10_000);
  const calls = new OwnCalls(systemClock);
  onTestFinished(() => calls.close());
  const port = await portOf(plain);
  const tlsPort = await portOf(tls.server);
  return {
    show: tls.show,
    ask(trusted: string | undefined, ports: { readonly tlsPort?: number } = { tlsPort }): Promise<string> {
      return calls.ask({
        ...wayToGateway({ ip: '127.0.0.1', port, ...ports }, '/', trusted),
        token: 'a-token',
        timeoutMs: 5_000,
        signal: new AbortController().signal,
        read: async (answer) => (await readBytes(answer, 100)).toString(),
      });
    },
  };
}

test('a pod with TLS is called over TLS, a pod of a release without it in plain HTTP', async () => {
  const pod = await startPod();
  const { tls } = await renew(undefined, Date.now());
  pod.show(tls);
  expect(await pod.ask(tls.trusted)).toBe('tls');
  expect(await pod.ask(tls.trusted, {})).toBe('plain');
  expect(await pod.ask(undefined)).toBe('plain');
});

test('a certificate of another authority is refused, and plain HTTP is not tried', async () => {
  const pod = await startPod();
  const [own, foreign] = await Promise.all([renew(undefined, Date.now()), renew(undefined, Date.now())]);
  pod.show(foreign.tls);
  await expect(pod.ask(own.tls.trusted)).rejects.toThrow(/^its certificate is not trusted \([A-Z_]+\)$/);
});

test('a certificate of our own authority for another server is refused', async () => {
  const pod = await startPod();
  const { stored, tls } = await renew(undefined, Date.now());
  const named = await renewCertificates(
    stored,
    { ledger: ['penstock-ledger.ai.svc'] },
    'penstock',
    Date.now(),
  );
  pod.show(named.stored.leaves.ledger ?? tls);
  await expect(pod.ask(tls.trusted)).rejects.toThrow(
    /^its certificate is not trusted \(ERR_TLS_CERT_ALTNAME_INVALID\)$/,
  );
});

test('a pod without a certificate yet fails the call, and succeeds later', async () => {
  const pod = await startPod();
  const { tls } = await renew(undefined, Date.now());
  await expect(pod.ask(tls.trusted)).rejects.toThrow(new CallFault('it has no certificate yet'));
  pod.show(tls);
  expect(await pod.ask(tls.trusted)).toBe('tls');
});

test('no call fails while an authority is renewed, in any order of caller and server', async () => {
  const pod = await startPod();
  const startMs = Date.now() - 366 * day;
  const first = await renew((await renew(undefined, startMs)).stored, startMs + 364 * day);
  const announced = await renew(first.stored, Date.now() - 21 * minute);
  const moved = await renew(announced.stored, Date.now() - 10.5 * minute);
  const over = await renew(moved.stored, Date.now());
  const steps = [first.tls, announced.tls, moved.tls, over.tls];
  expect(new Set(steps.map(({ certificate }) => certificate)).size).toBe(2);
  expect(new Set(steps.map(({ trusted }) => trusted)).size).toBe(3);
  for (const [at, shown] of steps.entries()) {
    pod.show(shown);
    // A caller may be a step behind, or one ahead.
    for (const caller of steps.slice(Math.max(0, at - 1), at + 2))
      expect(await pod.ask(caller.trusted)).toBe('tls');
  }
});
