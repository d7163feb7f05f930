// What does a dashboard say whose ledger is of an older release, and lacks a question?

import { expect, onTestFinished, test } from 'vitest';
import { openBrowser, openHouse } from './house.ts';

test('owners say that the ledger is of an older release, where it lacks their question', async () => {
  const person = { name: 'ada', groups: [] };
  const house = await openHouse(
    { url: 'https://127.0.0.1:1', caFile: '' },
    {
      signIn: {
        ...{ mode: 'kubernetes', tokenCommand: '', oidc: undefined },
        admit: async (token) => ({ token, person }),
        personOf: async () => person,
      },
      ledger: { ask: async () => ({ status: 404, text: '{"error":{"code":"not_found"}}' }) },
    },
  );
  onTestFinished(() => house.close());
  const browser = openBrowser(house);
  await browser.signIn('t');
  const { status, body } = await browser.ask('/api/owners?from=2026-11-01&to=2026-11-02');
  expect([status, body.error]).toEqual([
    503,
    {
      code: 'ledger_older',
      message:
        'The ledger is of an older release and does not add up owners. Update the ledger to the release of the dashboard.',
    },
  ]);
});
