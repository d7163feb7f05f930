// Does a secret of an installation stand anywhere but in its Secret? One in every field that may name one, used, rotated, refused,
// repeated by upstreams and in the hands of processes that are killed; then everything that was written, shown or answered is searched.

import { expect, test } from 'vitest';
import { startSimulator } from '../../simulator/server.ts';
import { makeCertificate } from '../core/egress/certificates.ts';
import { askGateway, askUntil } from '../flow/cluster/ask.ts';
import { type GatewayProcess, startInstallation } from '../flow/cluster/installation.ts';
import {
  configMap,
  importedApiKey,
  importedKey,
  issuedApiKey,
  modelRoute,
  namespaceOf,
  provider,
} from '../flow/cluster/manifests.ts';
import { type Searched, searchedKinds } from '../flow/cluster/secrecy.ts';
import { findLeaks, type Secrets, type Texts } from '../security/leaks.ts';
import { startRecordingUpstream } from '../security/recording-upstream.ts';
import { startCollector } from '../support/collector/collector.ts';
import { startConnectProxy } from '../support/proxy.ts';
import { startTlsFront } from '../support/tls-front.ts';
import { openScorecard } from './scorecard.ts';

const team = 'team-a';
const models = ['good', 'echo', 'certificate', 'proxied', 'refused'] as const;
const failing = [400, 401, 402, 403, 404, 408, 413, 422, 429, 500, 502, 503, 529, 307];
const canary = (of: string, version = 1): string => `canary-${of}-${version}-9f3a7c51e0b24d68`;
const prompt = canary('prompt');

test('the value of every secret field is in its Secret alone', { timeout: 600_000 }, async () => {
  const scorecard = openScorecard('Canaries');
  const answers: string[] = [];
  const searched = await liveAndStop(answers);
  const values: Secrets = new Map([
    ...searched.values,
    ['the key that was made elsewhere', importedKey(team, 'elsewhere')],
    ['the unknown key', unknownKey],
    ['what a caller asked', prompt],
  ]);
  for (const field of fields)
    expect([field, [...values.values()].some((value) => value.includes(field))]).toEqual([field, true]);

  // A caller may get its own text back.
  const untold = new Map([...values].filter(([, value]) => value !== prompt));
  const kinds: (readonly [string, Secrets, Texts])[] = [
    ...searchedKinds.map((kind) => [kind, values, textsOf(searched.texts, kind)] as const),
    ['traces', values, { traces: searched.traces }],
    ['answers', untold, { answers: answers.join('\n') }],
  ];
  for (const [kind, wanted, texts] of kinds) {
    const leaks = findLeaks(wanted, texts);
    // The same texts with every value in them: what is not found there would not be found at all.
    const leaking = { leaking: Object.values(texts).join('\n') + [...wanted.values()].join('\n') };
    const characters = Object.values(texts).reduce((sum, { length }) => sum + length, 0);
    scorecard.add({
      what: `${kind}: values of Secrets in them`,
      tried: wanted.size * Object.keys(texts).length,
      failed: leaks.length,
      fired: findLeaks(wanted, leaking).length,
      figures: `${wanted.size} values × ${Object.keys(texts).length} texts of ${characters} characters; fired: values planted and found`,
    });
    // Nothing is written into a journal or a folder where nothing happened.
    if (kind !== 'files') expect([kind, characters > 0]).toEqual([kind, true]);
  }
  scorecard.print();
  expect(scorecard.misses()).toEqual([]);
});

const unknownKey = `psk_${canary('unknown').padEnd(49, 'k')}`;
const fields = [
  ...['key', 'spare', 'header', 'user', 'password'].flatMap((of) => [canary(of), canary(of, 2)]),
  'PRIVATE KEY',
  'psk_',
];

const textsOf = (texts: Texts, kind: string): Texts =>
  Object.fromEntries(Object.entries(texts).filter(([place]) => place.startsWith(kind)));

/** `traces`: all that has come to a collector, events and metrics too. */
async function liveAndStop(answers: string[]): Promise<Searched & { readonly traces: string }> {
  await using parts = new AsyncDisposableStack();
  const simulator = await startSimulator();
  parts.defer(() => simulator.close());
  const ca = makeCertificate({ name: 'authority', isCa: true });
  const client = makeCertificate({ name: 'client' });
  const server = makeCertificate({ name: 'server', ipv4: ['127.0.0.1'], issuer: ca });
  const front = await startTlsFront(Number(new URL(simulator.url).port), {
    ...{ cert: server.cert, key: server.key, ca: client.cert },
    ...{ requestCert: true, rejectUnauthorized: true },
  });
  parts.defer(() => front.close());
  const proxy = await startConnectProxy({
    credentials: { username: canary('user'), password: canary('password') },
  });
  parts.defer(() => proxy.close());
  let asked = 0;
  const echo = await startRecordingUpstream(({ rawHeaders }) => {
    const text = `refused: ${rawHeaders.join(' ')}`;
    return {
      status: failing[asked++ % failing.length] ?? 500,
      headers: { 'x-echo': text, 'retry-after-ms': '1', location: `http://127.0.0.1:1/?${encodeURI(text)}` },
      body: JSON.stringify({ error: { message: text, type: text, code: text } }),
    };
  });
  parts.defer(() => echo.close());

  const collector = await startCollector();
  parts.defer(() => collector.close());

  let searched: Searched | undefined;
  const installation = await startInstallation({
    operators: 2,
    gateways: 2,
    gatewayEnv: {
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint,
      OTEL_TRACES_SAMPLER: 'always_on',
      PENSTOCK_USAGE_EVENTS: 'true',
    },
    onSearched: (all) => {
      searched = all;
    },
  });
  try {
    const { apply, awaitCondition, plane, gateways, operators } = installation;
    const hosts = [simulator.url, `http://127.0.0.1:${front.port}`, `http://127.0.0.1:${echo.port}`]
      .map((url) => new URL(url).host)
      .concat(`127.0.0.1:${proxy.port}`);
    const secret = (name: string, stringData: object, type = 'Opaque') => ({
      ...{ apiVersion: 'v1', kind: 'Secret', type },
      metadata: {
        ...{ namespace: team, name },
        labels: { 'penstock.dev/provider-credential': 'true' },
        annotations: { 'penstock.dev/allowed-hosts': hosts.join(',') },
      },
      stringData,
    });
    const secretsOf = (version: number) => [
      secret('keys', { main: canary('key', version), spare: canary('spare', version) }),
      secret('header', { value: canary('header', version) }),
      secret('proxy', { username: canary('user', version), password: canary('password', version) }),
    ];
    const auth = {
      keys: ['main', 'spare'].map((name) => ({ name, secretRef: { name: 'keys', key: name } })),
    };
    const headers = [{ name: 'x-extra', valueFrom: { secretKeyRef: { name: 'header', key: 'value' } } }];
    const common = { auth, headers };
    const providerAt = (name: string, url: string, spec: object = {}) =>
      provider(team, name, url, 'keys', { ...common, ...spec });
    await apply(
      namespaceOf(team),
      ...secretsOf(1),
      secret('client', { 'tls.crt': client.cert, 'tls.key': client.key }, 'kubernetes.io/tls'),
      configMap(team, 'authority', { 'ca.crt': ca.cert }),
      providerAt('good', simulator.url),
      providerAt('echo', `http://127.0.0.1:${echo.port}`),
      providerAt('certificate', `https://127.0.0.1:${front.port}`, {
        tls: {
          caRef: { kind: 'ConfigMap', name: 'authority' },
          clientCertificateRef: { name: 'client' },
        },
      }),
      providerAt('proxied', simulator.url, {
        proxy: { url: `http://127.0.0.1:${proxy.port}`, credentialsRef: { name: 'proxy' } },
      }),
      // It cannot be sent there: the operator has the value in its hands and says why not.
      providerAt('refused', 'https://elsewhere.example'),
      ...models.map((model) => modelRoute(team, model, [model])),
      issuedApiKey(team, 'bot', { rotation: { trigger: '1', overlap: '6s' } }),
      importedApiKey(team, 'elsewhere'),
    );
    for (const ref of ['good', 'echo', 'certificate', 'proxied'].map((name) => `modelroute/${name}`))
      await awaitCondition(ref, 'Programmed', team);
    await awaitCondition('apikey/bot', 'Ready', team);
    const botKey = async (): Promise<string> => {
      const path = ['get', 'secret', 'bot-key', '-n', team, '-o', 'jsonpath={.data.apiKey}'];
      return Buffer.from(await plane.mustKubectl(path), 'base64').toString();
    };
    const askAll = async (asking: readonly GatewayProcess[]): Promise<void> => {
      const keys = [await botKey(), importedKey(team, 'elsewhere'), unknownKey];
      for (const gateway of asking)
        for (const key of keys)
          for (const model of models)
            for (let n = 0; n < failing.length; n++)
              answers.push((await askGateway(gateway, key, model, prompt)).text);
    };
    const [first, second] = gateways;
    if (first === undefined || second === undefined) throw new Error('there are two gateways');
    for (const model of ['good', 'certificate', 'proxied'])
      await askUntil(first, await botKey(), model, ({ status }) => status === 200);
    await askAll([first, second]);

    // Everything is replaced: the proxy refuses the new password, the key of the bot is another one.
    const before = await botKey();
    await apply(...secretsOf(2), issuedApiKey(team, 'bot', { rotation: { trigger: '2', overlap: '6s' } }));
    await expect.poll(botKey, { timeout: 30_000 }).not.toBe(before);
    await askUntil(first, await botKey(), 'good', ({ status }) => status === 200);
    await askAll([first, second]);
    expect(answers.length).toBeGreaterThan(100);

    // Metrics of those that are to be killed are read while they live.
    await installation.readMetrics();
    for (const { process } of [first, ...operators.slice(0, 1)]) {
      process.signal('SIGABRT');
      await process.exit;
    }
    await askAll([second]);
  } finally {
    await installation.stop();
  }
  if (searched === undefined) throw new Error('nothing was searched');
  expect((await collector.spans()).length).toBeGreaterThan(100);
  return { ...searched, traces: await collector.everything() };
}
