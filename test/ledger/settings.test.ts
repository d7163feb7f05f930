// What may the environment of the ledger say, and what learns of what it may not?

import { expect, test } from 'vitest';
import { readInstallation, readSettings, readStorePlace } from '../../ledger/settings.ts';

const needed = {
  PENSTOCK_NAMESPACE: 'penstock-system',
  PENSTOCK_TABLE_NAMESPACE: 'penstock-tables',
  PENSTOCK_GATEWAY_SELECTOR: 'app.kubernetes.io/component=gateway',
};

test('with only the required settings, records stay in a file for ninety days, and no events are sent', () => {
  expect(readSettings({ ...needed, PENSTOCK_LEDGER_URL: '', PENSTOCK_LEDGER_EVENTS_URL: ' ' })).toMatchObject(
    {
      instance: 'penstock',
      store: { type: 'sqlite', path: '/var/lib/penstock/ledger.sqlite' },
      retentionDays: 90,
      hasLimitStore: false,
      events: undefined,
      port: 8080,
      metricsPort: 9090,
    },
  );
});

test('a store that gateways share is reported to the operator as set', () => {
  expect(readSettings({ ...needed, PENSTOCK_LIMITS_IN_STORE: 'true' }).hasLimitStore).toBe(true);
  expect(() => readSettings({ ...needed, PENSTOCK_LIMITS_IN_STORE: 'yes' })).toThrow(
    'PENSTOCK_LIMITS_IN_STORE: must be true or false',
  );
});

test('all errors are named at once, and no value is shown', () => {
  const read = () =>
    readSettings({
      PENSTOCK_LEDGER_URL: 'mysql://user:canary-word@host/db',
      PENSTOCK_LEDGER_RETENTION_DAYS: 'canary-word',
      PENSTOCK_LEDGER_EVENTS_TOKEN: 'canary-word\n',
      PENSTOCK_LEDGER_EVENTS_URL: 'ftp://canary-word',
    });
  for (const name of [
    'PENSTOCK_NAMESPACE: must be the name of a namespace',
    'PENSTOCK_TABLE_NAMESPACE: must be',
    'PENSTOCK_GATEWAY_SELECTOR: must be a label selector',
    'PENSTOCK_LEDGER_URL: must be a postgres:// address',
    'PENSTOCK_LEDGER_RETENTION_DAYS: must be a whole number of days',
    'PENSTOCK_LEDGER_EVENTS_TOKEN: holds a character',
    'PENSTOCK_LEDGER_EVENTS_URL: must be an http or https address',
  ])
    expect(read).toThrow(name);
  expect(read).not.toThrow(/canary-word/);
});

test('a command needs the location of the ledger, and nothing else', () => {
  expect(readStorePlace({ PENSTOCK_LEDGER_FILE: 'x.sqlite' })).toEqual({ type: 'sqlite', path: 'x.sqlite' });
  const url = 'postgres://user:p%40ss@host:5432/db';
  expect(readStorePlace({ PENSTOCK_LEDGER_URL: url })).toEqual({ type: 'postgres', url });
});

test('a command by hand needs at most the name of its ledger', () => {
  expect(readInstallation({})).toBeUndefined();
  expect(readInstallation({ PENSTOCK_NAMESPACE: 'penstock-system' })).toEqual({
    namespace: 'penstock-system',
    instance: 'penstock',
  });
});
