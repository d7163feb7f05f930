// What a key has spent is on its page in local mode as in the list: in its status, from the ledger beside it.

import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Clock } from '../../../core/clock.ts';
import type { Spent } from '../../../core/contract/spend.ts';
import type { LedgerStore } from '../../../ledger/store/store.ts';
import { followSpend } from '../../../local/dashboard/follow-spend.ts';
import { spendStatusOf } from '../../../local/dashboard/spend-status.ts';
import { makeFakeClock } from '../../support/fake-clock.ts';
import { until } from '../../support/until.ts';
import type { LocalRig } from '../rig.ts';
import { group, type KubeBody, type Person, signIn, startDashboardRig } from './person.ts';

const key = `${group}/namespaces/default/apikeys/quickstart`;
let rig: LocalRig;
let person: Person;

beforeAll(async () => {
  rig = await startDashboardRig();
  person = await signIn(rig);
});
afterAll(() => rig?.close());

const shown = async (): Promise<KubeBody> => (await person.kube('GET', key)).body;
const exhausted = ({ status }: KubeBody) => status.conditions.find(({ type }) => type === 'BudgetExhausted');
const row = async () => {
  const { rows } = (await person.ask('GET', '/api/rows/apikeys')).body as unknown as { rows: unknown[] };
  return rows[0];
};

test('a used key shows its spend, and one with a used-up budget the time of its reset', async () => {
  expect((await shown()).status).not.toHaveProperty('usage');
  expect((await rig.ask('penstock/small')).status).toBe(200);
  const used = await until(async () => {
    const body = await shown();
    return 'usage' in body.status && body;
  });
  expect(used.status).toMatchObject({
    usage: { lastUsedAt: expect.any(String), periods: [{ period: 'Month', requests: 1 }] },
  });
  expect(exhausted(used)).toBeUndefined();

  await person.kube('PATCH', key, { spec: { budgets: [{ period: 'Day', limit: '0' }] } });
  const spent = await until(async () => {
    const body = await shown();
    return exhausted(body) !== undefined && body;
  });
  expect(exhausted(spent)).toMatchObject({ status: 'True', reason: 'BudgetExhausted' });
  expect(exhausted(spent)?.message).toMatch(/^Daily budget used up: .* until \d{4}-/);
  expect(spent.status).toMatchObject({ usage: { periods: [{ period: 'Day', limit: '0', requests: 1 }] } });
  expect(await row()).toMatchObject({ name: 'quickstart', state: 'BudgetUsedUp' });
  const refused = await rig.ask('penstock/small');
  expect([refused.status, refused.text]).toEqual([429, expect.stringContaining('budget')]);
});

test('without spend there is no report, except for all keys on a new day', async () => {
  const fake = makeFakeClock(Date.parse('2026-11-23T12:00:00Z'));
  const clock: Clock = { ...fake, wallMs: fake.now };
  let asked = 0;
  const spend = {
    state: async () => {
      asked += 1;
      return { id: 'one', sequence: 0, keptFrom: '' };
    },
    changed: async () => [],
    spendOf: async () => [],
  };
  const reported: (readonly string[] | undefined)[] = [];
  const follower = followSpend({
    store: { spend } as unknown as Pick<LedgerStore, 'spend'>,
    clock,
    onSpend: (_, apiKeys) => reported.push(apiKeys),
    onFailure: (error) => expect.unreachable(String(error)),
  });
  const askAgain = async (ms = 1_000) => {
    const before = asked;
    await until(async () => fake.pending().length > 0);
    fake.advance(ms);
    await until(async () => asked > before && fake.pending().length > 0);
  };
  await until(async () => fake.pending().length > 0);
  expect(reported).toEqual([undefined]);
  await askAgain();
  expect(reported).toEqual([undefined]);
  await askAgain(12 * 3_600_000);
  expect(reported).toEqual([undefined, undefined]);
  await follower.close();
});

test('the status of a key changes with its spend, and not with each second', () => {
  const sum = { costPicodollars: '0', requests: 1, tokens: { input: 1, cachedInput: 0, output: 1 } };
  const [day, week, month] = ['2026-11-24', '2026-11-23', '2026-11-01'].map((since) => ({ ...sum, since }));
  const spent = { lastUsedAt: '2026-11-24T10:00:00Z', day, week, month, total: sum } as Spent;
  const at = (time: string) => spendStatusOf({}, spent, Date.parse(`2026-11-24T${time}Z`));
  expect(at('10:00:01')).toEqual(at('23:59:59'));
  expect(spendStatusOf({}, undefined, 0)).toEqual({ conditions: [] });
});
