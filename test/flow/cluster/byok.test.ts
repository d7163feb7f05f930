// The manifests of docs/guides/providers-and-keys.md, applied as a tenant would, with an address, an authority and passwords that exist:
// first directly, then through a proxy, and the authority is replaced while somebody is calling.

import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { type Simulator, startSimulator } from '../../../simulator/server.ts';
import { pasted } from '../../cluster/pasted.ts';
import { makeCertificate } from '../../core/egress/certificates.ts';
import { startConnectProxy, type TestProxy } from '../../support/proxy.ts';
import { runs } from '../../support/runs.ts';
import { startTlsFront, type TlsFront } from '../../support/tls-front.ts';
import { askGateway } from './ask.ts';
import { useInstallation } from './installation.ts';
import { configMap, namespaceOf } from './manifests.ts';

const examples = fileURLToPath(new URL('../../../docs/examples/byok/', import.meta.url));
const installation = useInstallation({ operators: 1, gateways: runs(2) });
const first = makeCertificate({ name: 'first authority', isCa: true });
const second = makeCertificate({ name: 'second authority', isCa: true });
const serverOf = (issuer: typeof first) => makeCertificate({ name: 'models', ipv4: ['127.0.0.1'], issuer });

let simulator: Simulator;
let front: TlsFront;
let proxy: TestProxy;

beforeAll(async () => {
  simulator = await startSimulator();
  front = await startTlsFront(Number(new URL(simulator.url).port), serverOf(first));
  proxy = await startConnectProxy({ credentials: { username: 'team-a', password: 'your-password-there' } });
});
afterAll(async () => {
  await proxy.close();
  await front.close();
  await simulator.close();
});

/** An example with what a reader has to fill in. */
async function example(file: string): Promise<string> {
  const text = await readFile(`${examples}${file}`, 'utf8');
  const filled = text
    .replaceAll('models.example.com', `127.0.0.1:${front.port}`)
    .replaceAll('proxy.example.com:3128', `127.0.0.1:${proxy.port}`)
    .replace(/-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/, () =>
      first.cert.trim().replaceAll('\n', '\n    '),
    );
  expect(filled).not.toContain('example.com');
  return filled;
}

async function applyText(text: string): Promise<void> {
  const { plane } = installation();
  const said = await plane.kubectl(['apply', '-f', '-'], { stdin: text });
  expect(said).toMatchObject({ code: 0, stderr: '' });
}

async function keyOfBot(): Promise<string> {
  const { plane } = installation();
  const secret = ['get', 'secret', 'bot-key', '-n', 'team-a', '-o', 'jsonpath={.data.apiKey}'];
  return Buffer.from(await plane.mustKubectl(secret), 'base64').toString();
}

/** The Provider of the example is out of service, because of this. */
async function untilUnresolved(reason: string): Promise<void> {
  const { plane } = installation();
  const says = `jsonpath={.status.conditions[?(@.type=="ResolvedRefs")].reason}=${reason}`;
  const wanted = [`--for=${says}`, '--timeout=20s'];
  await plane.mustKubectl(['wait', 'provider/own-models', '-n', 'team-a', ...wanted]);
}

test('the first manifest serves a model behind a private authority at every gateway', async () => {
  const { apply, awaitCondition, gateways } = installation();
  await apply(namespaceOf('team-a'));
  await applyText(await example('provider.yaml'));
  for (const ref of ['provider/own-models', 'modelroute/llama', 'apikey/bot']) {
    await awaitCondition(ref, 'Ready', 'team-a');
  }
  const key = await keyOfBot();
  for (const gateway of gateways) {
    expect(await askGateway(gateway, key, 'llama')).toMatchObject({ status: 200, model: 'llama-4' });
  }
  expect(front.clients.length).toBeGreaterThanOrEqual(gateways.length);
}, 60_000);

test('an authority replaced in its ConfigMap is trusted soon, and no request fails', async () => {
  const { apply, awaitCondition, gateways } = installation();
  const key = await keyOfBot();
  // From here on each has a connection, and opens another one for another table alone.
  for (const gateway of gateways) await askGateway(gateway, key, 'llama');
  const statuses: number[] = [];
  let isOver = false;
  const calling = gateways.map(async (gateway) => {
    while (!isOver) {
      statuses.push((await askGateway(gateway, key, 'llama')).status);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  });
  // As it is done without a gap: both are trusted before the server shows the new certificate.
  // Counted before: the gateways may be quicker than the command that tells of the write.
  const opened = front.clients.length;
  await apply(configMap('team-a', 'company-ca', { 'ca.crt': first.cert + second.cert }));
  // A new connection of every gateway says that its table has the new authorities.
  await connections(opened + gateways.length);
  front.renew(serverOf(second));
  const renewed = front.clients.length;
  await apply(configMap('team-a', 'company-ca', { 'ca.crt': second.cert }));
  await connections(renewed + gateways.length);
  isOver = true;
  await Promise.all(calling);
  await awaitCondition('provider/own-models', 'Ready', 'team-a');
  expect(new Set(statuses)).toEqual(new Set([200]));

  // And what is no authority is reported, and keeps the Provider out of service.
  await apply(configMap('team-a', 'company-ca', { 'ca.crt': 'none' }));
  await untilUnresolved('InvalidCertificate');
  await apply(configMap('team-a', 'company-ca', { 'ca.crt': second.cert }));
  await awaitCondition('provider/own-models', 'Ready', 'team-a');
}, 90_000);

test('the second manifest sends all calls through the proxy, to which the key is bound too', async () => {
  const { awaitCondition, gateways } = installation();
  const text = await example('proxy.yaml');
  const withoutConsent = text.replace(
    `127.0.0.1:${front.port}, http://127.0.0.1:${proxy.port}`,
    `127.0.0.1:${front.port}`,
  );
  expect(withoutConsent).not.toBe(text);
  await applyText(withoutConsent);
  await untilUnresolved('HostNotAllowed');
  expect(proxy.asked).toEqual([]);

  // The command in the message is enough, and what the Secret allowed before stays.
  const { plane } = installation();
  const said = 'jsonpath={.status.conditions[?(@.type=="ResolvedRefs")].message}';
  const message = await plane.mustKubectl(['get', 'provider/own-models', '-n', 'team-a', '-o', said]);
  const [, command = ''] = /or run: (.+)$/.exec(message) ?? [];
  expect(await pasted(plane, command)).toMatchObject({ code: 0 });
  await awaitCondition('provider/own-models', 'Ready', 'team-a');
  await applyText(text);
  await awaitCondition('provider/own-models', 'Ready', 'team-a');
  const key = await keyOfBot();
  for (const gateway of gateways) expect((await askGateway(gateway, key, 'llama')).status).toBe(200);
  expect(new Set(proxy.asked)).toEqual(new Set([`127.0.0.1:${front.port}`]));
  expect(new Set(proxy.signedIn)).toEqual(new Set(['team-a:your-password-there']));
  expect(Buffer.concat(proxy.sent).toString('latin1')).not.toContain('sk-your-own-key');
}, 60_000);

/** Until the server has seen so many. */
async function connections(count: number): Promise<void> {
  await vi.waitFor(() => expect(front.clients.length).toBeGreaterThanOrEqual(count), {
    timeout: 20_000,
    interval: 20,
  });
}
