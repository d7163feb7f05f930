// What may the environment of the dashboard say, and what learns of what it may not?

import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readSettings } from '../../dashboard/settings.ts';

const needed = { KUBERNETES_SERVICE_HOST: '10.0.0.1', KUBERNETES_SERVICE_PORT: '443' };
let folder: string;
const write = async (name: string, text: string) => {
  await writeFile(join(folder, name), text);
  return join(folder, name);
};
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'penstock-settings-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

test('in a pod, no setting is required', () => {
  expect(readSettings({ ...needed, PENSTOCK_DASHBOARD_URL: ' ' })).toMatchObject({
    port: 8080,
    places: [],
    kubernetes: { url: 'https://10.0.0.1:443', caFile: undefined },
    sessionKeys: [],
    sessionMs: 3_600_000,
    oidc: undefined,
    ledgerUrl: undefined,
    gatewayUrl: undefined,
    keyPrefix: 'psk_',
  });
  expect(readSettings({ KUBERNETES_SERVICE_HOST: 'fd00::1' }).kubernetes.url).toBe('https://[fd00::1]:443');
});

test('every setting is read', async () => {
  const keys = [randomBytes(32), randomBytes(32)];
  const file = await write('keys', keys.map((key) => key.toString('base64')).join('\n'));
  const secret = await write('secret', 'canary-word\n');
  expect(
    readSettings({
      PENSTOCK_DASHBOARD_URL: 'https://Penstock.example.com/, http://localhost:9000',
      PENSTOCK_DASHBOARD_GATEWAY_URL: 'https://gateway.example.com/v1/',
      PENSTOCK_DASHBOARD_KEY_PREFIX: 'acme-',
      PENSTOCK_DASHBOARD_KUBERNETES_URL: 'https://kube:6443/',
      PENSTOCK_DASHBOARD_SESSION_KEYS_FILE: file,
      PENSTOCK_DASHBOARD_OIDC_ISSUER: 'https://issuer.example.com',
      PENSTOCK_DASHBOARD_OIDC_CLIENT_ID: 'penstock',
      PENSTOCK_DASHBOARD_OIDC_CLIENT_SECRET_FILE: secret,
    }),
  ).toMatchObject({
    places: [
      { origin: 'https://penstock.example.com', host: 'penstock.example.com', isSecure: true },
      { origin: 'http://localhost:9000', host: 'localhost:9000', isSecure: false },
    ],
    gatewayUrl: 'https://gateway.example.com',
    keyPrefix: 'acme-',
    kubernetes: { url: 'https://kube:6443' },
    sessionKeys: keys,
    oidc: { clientId: 'penstock', clientSecret: 'canary-word', name: 'single sign-on' },
  });
});

test.each([
  'https://login.example.com/application/o/kubernetes/',
  'https://login.example.com/realms/platform',
])('the issuer is %s as written: its name is compared to the letter', (issuer) => {
  const { oidc } = readSettings({
    ...needed,
    PENSTOCK_DASHBOARD_OIDC_ISSUER: issuer,
    PENSTOCK_DASHBOARD_OIDC_CLIENT_ID: 'penstock',
  });
  expect(oidc?.issuer).toBe(issuer);
});

test('an error names the setting and the remedy, and shows no value', async () => {
  const wrong = (environment: Record<string, string>) => {
    const read = () => readSettings({ ...needed, ...environment });
    expect(read).not.toThrow('canary-word');
    return expect(read, JSON.stringify(environment));
  };
  for (const url of [
    'http://penstock.canary-word',
    'canary-word',
    'https://a.example/path',
    'ftp://canary-word',
  ])
    wrong({ PENSTOCK_DASHBOARD_URL: url }).toThrow('PENSTOCK_DASHBOARD_URL: must be addresses such as');
  wrong({ PENSTOCK_DASHBOARD_KEY_PREFIX: 'canary-word psk_' }).toThrow('such as psk_');
  wrong({ PENSTOCK_DASHBOARD_SESSION_MINUTES: '1' }).toThrow('must be a whole number of minutes');
  wrong({ PENSTOCK_DASHBOARD_LEDGER_URL: 'ftp://canary-word' }).toThrow('PENSTOCK_DASHBOARD_LEDGER_URL');
  wrong({ PENSTOCK_DASHBOARD_OIDC_ISSUER: 'https://canary-word' }).toThrow('set both or neither');
  wrong({
    PENSTOCK_DASHBOARD_OIDC_ISSUER: 'http://canary-word',
    PENSTOCK_DASHBOARD_OIDC_CLIENT_ID: 'x',
  }).toThrow('must be an https address');
  const short = await write('short', `${randomBytes(32).toString('base64')}\ncanary-word`);
  wrong({ PENSTOCK_DASHBOARD_SESSION_KEYS_FILE: short }).toThrow('line 2 is not the base64 of 32 bytes');
  wrong({ PENSTOCK_DASHBOARD_SESSION_KEYS_FILE: await write('empty', '\n') }).toThrow('holds no key');
  wrong({ PENSTOCK_DASHBOARD_SESSION_KEYS_FILE: join(folder, 'absent') }).toThrow('cannot be read (ENOENT)');
  expect(() => readSettings({})).toThrow('PENSTOCK_DASHBOARD_KUBERNETES_URL: is needed outside of a pod');
});
