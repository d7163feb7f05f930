// A secret in every place that may hold one, and every kind of failure, up to the end of the process: is any of them in what the
// gateway says, writes or leaves behind? The same for whole installations: test/flow/cluster/secrecy.ts.

import { hash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { RoutingTable } from '../../core/contract/routing-table.ts';
import { makeCertificate } from '../core/egress/certificates.ts';
import { type Folder, launchListening, makeFolder } from '../gateway/process/gateway-process.ts';
import { keyEntry, type RigTarget, tableOf } from '../gateway/rig.ts';
import { startConnectProxy, type TestProxy } from '../support/proxy.ts';
import { type RawRequest, rawCall } from '../support/raw-client.ts';
import { startTlsFront, type TlsFront } from '../support/tls-front.ts';
import { type Behaviour, startWall, type Wall } from '../support/wall.ts';
import { findLeaks, type Secrets } from './leaks.ts';

const ca = makeCertificate({ name: 'authority', isCa: true });
const identity = makeCertificate({ name: 'upstream', ipv4: ['127.0.0.1'], issuer: ca });
const client = makeCertificate({ name: 'client' });

const canary = (of: string): string => `canary-${of}-9f3a7c51e0b24d68`;
const secrets = {
  'key of a provider': canary('key'),
  'second key of a provider': canary('spare'),
  'header from a Secret': canary('header'),
  'key of a client certificate': client.key,
  'user of a proxy': canary('user'),
  'password of a proxy': canary('password'),
  'key of a caller': `psk_${canary('caller')}`,
  'key that nobody has': `psk_${canary('unknown')}`,
  prompt: canary('prompt'),
} as const;
/** A caller's own words stand in answers to it. */
const { prompt: _, ...neverReported } = secrets;

let wall: Wall;
let front: TlsFront;
let proxy: TestProxy;
let folder: Folder;
let table: RoutingTable;
let generation = 1;

beforeAll(async () => {
  wall = await startWall();
  front = await startTlsFront(wall.port, {
    cert: identity.cert,
    key: identity.key,
    ca: ca.cert,
    requestCert: true,
    rejectUnauthorized: true,
  });
  proxy = await startConnectProxy({ credentials: { username: 'another', password: 'another' } });
  folder = await makeFolder();
  table = tableWithEverything();
});

afterAll(async () => {
  await folder.remove();
  await proxy.close();
  await front.close();
  await wall.close();
});

/** One route to each of the providers, by its model: `plain`, `certificate`, `proxied`. */
function tableWithEverything(): RoutingTable {
  const targets: readonly (RigTarget & { readonly model: string })[] = [
    {
      model: 'plain',
      provider: 'platform/plain',
      baseUrl: wall.baseUrl,
      keys: { main: secrets['key of a provider'], spare: secrets['second key of a provider'] },
      providerEntry: {
        headers: [{ name: 'x-extra', credential: 'platform/plain/extra' }],
        breaker: { consecutiveFailures: 0, openForMs: 1, maxOpenMs: 1, rateLimitCooldownMs: 1 },
      },
    },
    {
      model: 'certificate',
      provider: 'platform/certificate',
      baseUrl: `https://127.0.0.1:${front.port}/v1`,
      providerEntry: {
        tls: { ca: ca.cert, clientCertificate: { chain: client.cert, key: 'platform/certificate/tls' } },
      },
    },
    {
      model: 'proxied',
      provider: 'platform/proxied',
      baseUrl: wall.baseUrl,
      providerEntry: {
        proxy: {
          protocol: 'http',
          hostname: '127.0.0.1',
          port: proxy.port,
          username: 'platform/proxied/user',
          password: 'platform/proxied/password',
        },
      },
    },
  ];
  const tables = targets.map(({ model, ...target }) => tableOf([target], { id: `team/${model}`, model }));
  const [first] = tables;
  if (first === undefined) throw new Error('there are targets');
  const hosts = [wall.port, front.port, proxy.port].map((port) => `127.0.0.1:${port}`);
  const credential = (id: string, value: string) => ({
    id,
    value,
    fingerprint: hash('sha256', value).slice(0, 16),
    hosts,
  });
  return {
    ...first,
    keys: [keyEntry(secrets['key of a caller'], 'team/key')],
    providers: tables.flatMap(({ providers }) => providers),
    routes: tables.flatMap(({ routes }) => routes),
    credentials: [
      ...tables.flatMap(({ credentials }) => credentials),
      credential('platform/plain/extra', secrets['header from a Secret']),
      credential('platform/certificate/tls', secrets['key of a client certificate']),
      credential('platform/proxied/user', secrets['user of a proxy']),
      credential('platform/proxied/password', secrets['password of a proxy']),
    ],
  };
}

/** A new table, in which every credential counts as replaced: none of its keys is in cooldown, whatever was reported of it. */
function renewed(): RoutingTable {
  generation++;
  const credentials = table.credentials.map((credential) => ({
    ...credential,
    fingerprint: hash('sha256', `${credential.value} ${generation}`).slice(0, 16),
  }));
  return { ...table, generation, credentials };
}

/** All that an upstream was signed in with, as it might repeat it. */
const echo = `refused ${secrets['key of a provider']}, ${secrets['second key of a provider']}: "x-extra: ${secrets['header from a Secret']}"`;
const echoing = { 'x-echo': echo, 'set-cookie': `s=${secrets['key of a provider']}`, 'retry-after': echo };

const faults: readonly Behaviour[] = [
  ...[301, 307, 400, 401, 402, 403, 404, 408, 409, 413, 422, 429, 500, 502, 503, 529].map(
    (status): Behaviour => ({
      type: 'status',
      status,
      headers: { ...echoing, location: `http://127.0.0.1:1/?${secrets['key of a provider']}` },
      error: { message: echo, type: echo, code: echo },
    }),
  ),
  { type: 'status', status: 400, body: echo },
  { type: 'status', status: 500, body: { error: echo } },
  { type: 'html', status: 502, body: `<html>${echo}</html>` },
  { type: 'empty' },
  { type: 'truncated-json' },
  { type: 'reset' },
  { type: 'raw', bytes: `${echo}\r\n\r\n`, followedBy: 'fin' },
  { type: 'raw', bytes: `HTTP/1.1 200 OK\r\nx: ${echo}\0\r\n\r\n`, followedBy: 'fin' },
  {
    type: 'raw',
    bytes: `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n${echo}`,
    followedBy: 'fin',
  },
  { type: 'cut', after: { contentEvents: 2 } },
  { type: 'garbage-event', atEvent: 1, data: echo },
  { type: 'garbage-event', atEvent: 3, data: echo },
];

async function launchWith(env: Readonly<Record<string, string>> = {}) {
  await folder.putTable(table);
  const running = await launchListening(folder, env);
  await running.process.answering(`${running.metricsUrl}/readyz`);
  return running;
}

type Running = Awaited<ReturnType<typeof launchWith>>;

function ask(
  { url }: Pick<Running, 'url'>,
  model: string,
  more: object = {},
  headers?: RawRequest['headers'],
) {
  return rawCall(
    { port: Number(new URL(url).port) },
    {
      method: 'POST',
      path: '/v1/chat/completions',
      headers: headers ?? { authorization: `Bearer ${secrets['key of a caller']}` },
      body: { model, messages: [{ role: 'user', content: secrets.prompt }], ...more },
    },
  );
}

const mapOf = (of: Readonly<Record<string, string>>): Secrets => new Map(Object.entries(of));

async function textOfJournal(): Promise<string> {
  const path = join(folder.path, 'journal');
  const files = await readdir(path);
  return (await Promise.all(files.map((file) => readFile(join(path, file), 'utf8')))).join('\n');
}

test('after every kind of failure none is in an answer, a log, a metric or the journal', async () => {
  const running = await launchWith();
  const { process, metricsUrl } = running;
  const answers: string[] = [];
  const keep = async (asked: ReturnType<typeof ask>): Promise<void> => {
    const { status, headers, text } = await asked;
    answers.push(`${status} ${JSON.stringify(headers)} ${text}`);
  };
  for (const fault of faults) {
    for (const stream of [false, true]) {
      wall.script(fault);
      await keep(ask(running, 'plain', { stream }));
      // Neither the breaker nor a key in cooldown matters here.
      const inUse = process.nextLine(/routing table in use/);
      await folder.putTable(renewed());
      await inUse;
    }
  }
  wall.script({ type: 'answer' });
  const { authorization } = { authorization: `Bearer ${secrets['key that nobody has']}` };
  await keep(ask(running, 'plain', {}, { authorization }));
  await keep(ask(running, 'plain', {}, { 'x-api-key': `"${secrets['key of a caller']}"` }));
  await keep(ask(running, 'certificate'));
  await keep(ask(running, 'proxied'));
  await keep(ask(running, 'plain'));
  const broken = JSON.stringify(renewed());
  for (const text of [
    broken.replace(`"${secrets['key of a provider']}"`, `${secrets['key of a provider']}`),
    broken.slice(0, broken.indexOf(secrets['header from a Secret']) + 20),
    broken.replaceAll('"hosts":["127.0.0.1', '"hosts":["192.0.2.1'),
  ]) {
    const refused = process.nextLine(/routing table refused/);
    await folder.putTable(text);
    await refused;
  }
  const metrics = await (await fetch(`${metricsUrl}/metrics`)).text();
  await process.stop();

  // What is hunted was there to be found, and the faults fired.
  expect(wall.calls.length).toBeGreaterThanOrEqual(2 * faults.length);
  expect(wall.calls.some(({ headers }) => headers['x-extra'] === secrets['header from a Secret'])).toBe(true);
  expect(proxy.signedIn).toContain(`${secrets['user of a proxy']}:${secrets['password of a proxy']}`);
  // A cut stream, events with an odd one as a stream and as a plain answer, and the sound answer.
  expect(answers.filter((answer) => answer.startsWith('200'))).toHaveLength(4);
  expect(findLeaks(mapOf(neverReported), { answers: answers.join('\n') })).toEqual([]);
  expect(
    findLeaks(mapOf(secrets), {
      log: process.stdout() + process.stderr(),
      metrics,
      journal: await textOfJournal(),
    }),
  ).toEqual([]);
}, 120_000);

describe('a process that fails while it holds a credential', () => {
  const preload = pathToFileURL(join(import.meta.dirname, 'crash-in-hand.ts'));

  test.each(['exception', 'rejection', 'stage'])('by an uncaught %s', async (how) => {
    wall.script({ type: 'answer' });
    const running = await launchWith({
      NODE_OPTIONS: `--import ${preload}`,
      PENSTOCK_TEST_CRASH: how,
      PENSTOCK_DRAIN_GRACE_MS: '0',
    });
    const { process } = running;
    const armed = process.nextLine(/^armed$/);
    process.signal('SIGWINCH');
    await armed;
    const answer = await ask(running, 'plain').then(
      ({ text, headers }) => text + JSON.stringify(headers),
      String,
    );
    await process.line(how === 'stage' ? /^fired$/ : /the process failed and drains.*the crash of a test/);
    await process.stop();
    const said = process.stdout() + process.stderr();
    expect(findLeaks(mapOf(secrets), { said, answer, journal: await textOfJournal() })).toEqual([]);
    const left = (await readdir(folder.path)).filter((name) => !/^(table\.json|journal)/.test(name));
    expect(left).toEqual([]);
  });
});
