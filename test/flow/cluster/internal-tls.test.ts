// Do operator, gateways and ledger speak TLS with each other from the first start on, through the renewal of their authority, and beside
// pods of a release that has none? Plain HTTP is closed where a test says so: what works then, works over TLS.

import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  authoritySecretName,
  GATEWAY_SERVER_NAME,
  ledgerSecretName,
  ledgerServerNames,
} from '../../../core/contract/internal-tls.ts';
import { mergePatch, readObject } from '../../../core/kube/patch.ts';
import { objectPath, secrets } from '../../../core/kube/paths.ts';
import type { Stored } from '../../../operator/certificates/plan.ts';
import { renewCertificates } from '../../../operator/certificates/renew.ts';
import { type Simulator, startSimulator } from '../../../simulator/server.ts';
import { rawCall } from '../../support/raw-client.ts';
import { until } from '../../support/until.ts';
import { askGateway } from './ask.ts';
import {
  type GatewayProcess,
  type Installation,
  namespace,
  type OperatorProcess,
  startInstallation,
  tableNamespace,
} from './installation.ts';
import {
  credentialSecret,
  importedApiKey,
  importedKey,
  modelRoute,
  namespaceOf,
  provider,
} from './manifests.ts';

const day = 86_400_000;
const minute = 60_000;

let simulator: Simulator;
beforeAll(async () => {
  simulator = await startSimulator();
});
afterAll(() => simulator.close());

/** A model, and keys: one with a budget, so that the ledger is asked by all. */
async function populate(installation: Installation): Promise<void> {
  const pricing = { inputPerMillion: '100', outputPerMillion: '200' };
  await installation.apply(
    namespaceOf('platform'),
    namespaceOf('team-a'),
    credentialSecret('platform', 'sim', simulator.url, 'any'),
    provider('platform', 'sim', simulator.url, 'sim'),
    modelRoute('platform', 'm', ['sim'], { pricing, allowedNamespaces: { from: 'All' } }),
    importedApiKey('team-a', 'busy'),
    importedApiKey('team-a', 'bounded', { budgets: [{ period: 'Month', limit: '1000000' }] }),
  );
}

async function areProgrammed(installation: Installation): Promise<void> {
  await installation.awaitCondition('apikey/busy', 'Programmed', 'team-a');
  await installation.awaitCondition('modelroute/m', 'Programmed', 'platform');
}

async function askOnce(gateway: GatewayProcess): Promise<number> {
  return (await askGateway(gateway, importedKey('team-a', 'busy'), 'm')).status;
}

/** Asks all gateways until it is ended; gives every status. */
function beginLoad({ gateways }: Installation): () => Promise<readonly number[]> {
  const statuses: number[] = [];
  let isOver = false;
  const asking = (async () => {
    while (!isOver) statuses.push(...(await Promise.all(gateways.map(askOnce))));
  })();
  return async () => {
    isOver = true;
    await asking;
    return statuses;
  };
}

/** Settled when the ledger has taken every record of these answers: none is left with a gateway. */
async function areBilled(installation: Installation, answers: number): Promise<void> {
  const { port } = new URL(installation.ledger().metricsUrl);
  await until(async () => {
    const { text } = await rawCall({ port: Number(port) }, { path: '/metrics' });
    const taken = /^penstock_ledger_records_total (\d+)/m.exec(text)?.[1];
    return Number(taken) === answers;
  });
}

/** The operator has heard of the ledger what the key spent. */
async function isSpendSeen({ plane }: Installation): Promise<void> {
  await until(async () => {
    const spent = await plane.mustKubectl([
      ...['get', 'apikey', 'busy', '-n', 'team-a', '-o'],
      'jsonpath={.status.usage.lastUsedAt}',
    ]);
    return spent !== '';
  });
}

/** Nobody was refused, or could not be asked, because of a certificate. */
function expectNoComplaint({ operators, gateways, ledger }: Installation): void {
  const said = [...operators, ...gateways, ledger()].map(({ process }) => process.stdout()).join('');
  expect(
    said.split('\n').filter((line) => /certificate.*(not trusted|no certificate|cannot)/.test(line)),
  ).toEqual([]);
}

const nothing: Stored = {
  authority: undefined,
  trusted: [],
  leaves: { gateway: undefined, ledger: undefined },
};
const serverNames = { gateway: [GATEWAY_SERVER_NAME], ledger: ledgerServerNames('penstock', namespace) };

async function writeStored({ plane }: Installation, { authority, trusted, leaves }: Stored): Promise<void> {
  const write = async (name: string, texts: Readonly<Record<string, string | undefined>>): Promise<void> => {
    const data = Object.fromEntries(
      Object.entries(texts).map(([member, text]) => [member, Buffer.from(text ?? '').toString('base64')]),
    );
    await mergePatch(plane.client, objectPath(secrets, { namespace, name }), { data });
  };
  await write(authoritySecretName('penstock'), {
    ...{ 'tls.crt': authority?.certificate, 'tls.key': authority?.key, 'ca.crt': trusted.join('') },
    ...{ 'gateway.crt': leaves.gateway?.certificate, 'gateway.key': leaves.gateway?.key },
  });
  await write(ledgerSecretName('penstock'), {
    'tls.crt': leaves.ledger?.certificate,
    'tls.key': leaves.ledger?.key,
  });
}

interface InPointer {
  readonly shown: string;
  /** How many authorities. */
  readonly trusted: number;
}

async function inPointer({ plane }: Installation): Promise<InPointer> {
  const path = objectPath(secrets, { namespace: tableNamespace, name: 'penstock-current' });
  const { data } = await readObject(plane.client, path);
  const text = (name: string) =>
    Buffer.from((data as Record<string, string>)[name] ?? '', 'base64').toString();
  return { shown: text('tls.crt'), trusted: text('ca.crt').split('BEGIN CERTIFICATE').length - 1 };
}

test('a first install, and a renewal of the authority under load, need no plain HTTP and lose nothing', async () => {
  const installation = await startInstallation({
    operators: 0,
    gateways: 2,
    hasLedger: true,
    values: { internalTls: { plainHttp: false } },
  });
  try {
    // As a year ago: an authority that is half its life old by now, and certificates of it.
    const startMs = Date.now() - 366 * day;
    const year = async (stored: Stored, nowMs: number) =>
      (await renewCertificates(stored, serverNames, 'penstock', nowMs)).stored;
    const old = await year(await year(nothing, startMs), startMs + 364 * day);
    await writeStored(installation, old);
    await populate(installation);
    /** An operator that leads, with a clock that is behind by so many minutes. */
    const leadAt = async (minutes: number) => {
      const late = `--import=data:text/javascript,const%20now=Date.now;Date.now=()=>now()-${minutes * minute}`;
      return await installation.startOperator(minutes === 0 ? {} : { NODE_OPTIONS: late });
    };

    const first = await leadAt(22);
    await installation.gatewaysAreReady();
    await areProgrammed(installation);
    expect(await inPointer(installation)).toEqual({ shown: old.leaves.gateway?.certificate, trusted: 2 });
    const endLoad = beginLoad(installation);
    await isSpendSeen(installation);
    await first.process.stop(20_000);
    const second = await leadAt(11);
    const moved = await until(async () => {
      const now = await inPointer(installation);
      return now.shown !== old.leaves.gateway?.certificate && now;
    });
    expect(moved.trusted).toBe(2);
    await areProgrammed(installation);
    await second.process.stop(20_000);
    await leadAt(0);
    await until(async () => (await inPointer(installation)).trusted === 1);
    expect((await inPointer(installation)).shown).toBe(moved.shown);
    await installation.apply(modelRoute('platform', 'last', ['sim']));
    await installation.awaitCondition('modelroute/last', 'Programmed', 'platform');

    const statuses = await endLoad();
    expect(statuses.filter((status) => status !== 200)).toEqual([]);
    await areBilled(installation, statuses.length);
    expectNoComplaint(installation);
    const [gateway] = installation.gateways;
    const said = JSON.parse((await gateway?.process.line(/gateway listening/)) ?? '');
    expect(new URL(said.internalUrl).hostname).toBe('127.0.0.1');
    expect(new URL(said.internalTlsUrl).hostname).toBe(gateway?.pod.ip);
  } finally {
    await installation.stop();
  }
}, 120_000);

test('during an upgrade and a rollback, pods of a release without TLS call and are called in plain HTTP', async () => {
  const installation = await startInstallation({ operators: 0, gateways: 1, hasLedger: true });
  try {
    await installation.startGateway(false);
    await populate(installation);
    const before = await installation.startOperator({ PENSTOCK_INTERNAL_TLS: 'false' });
    await installation.gatewaysAreReady();
    await areProgrammed(installation);
    expect(await inPointer(installation)).toEqual({ shown: '', trusted: 0 });
    const endLoad = beginLoad(installation);
    await isSpendSeen(installation);

    /** The next one leads, and a change reaches every pod. */
    const goOn = async (model: string, env: Readonly<Record<string, string>>, last: OperatorProcess) => {
      await last.process.stop(20_000);
      const next = await installation.startOperator(env);
      await installation.apply(modelRoute('platform', model, ['sim']));
      await installation.awaitCondition(`modelroute/${model}`, 'Programmed', 'platform');
      return next;
    };
    const upgraded = await goOn('upgraded', {}, before);
    const { shown } = await inPointer(installation);
    expect(shown).toContain('BEGIN CERTIFICATE');
    await installation.gateways[0]?.process.line(/a certificate for operator and ledger is in use/);
    await goOn('rolled-back', { PENSTOCK_INTERNAL_TLS: 'false' }, upgraded);
    expect(await inPointer(installation)).toEqual({ shown: '', trusted: 0 });

    const statuses = await endLoad();
    expect(statuses.filter((status) => status !== 200)).toEqual([]);
    await areBilled(installation, statuses.length);
    expectNoComplaint(installation);
  } finally {
    await installation.stop();
  }
}, 120_000);
