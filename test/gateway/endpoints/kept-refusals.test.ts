// Does the ledger know of every request that the gateway refused, and of which key, through restarts and drains?

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { systemClock } from '../../../core/clock.ts';
import { openFileJournal, type ReadableJournal } from '../../../gateway/meter/journal.ts';
import { readPage } from '../../../ledger/read-page.ts';
import { openSqliteStore } from '../../../ledger/store/sqlite.ts';
import type { LedgerStore } from '../../../ledger/store/store.ts';
import { rawCall } from '../../support/raw-client.ts';
import { startWall, type Wall } from '../../support/wall.ts';
import { keyEntry, type Rig, startRig, tableOf, testKey } from '../rig.ts';
import { bearer, portOf, post } from './ask.ts';

let folder: string;
let wall: Wall;
let store: LedgerStore;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'penstock-refusals-'));
  wall = await startWall();
  store = await openSqliteStore(join(folder, 'ledger.sqlite'));
});
afterEach(async () => {
  await store.close();
  await wall.close();
  await rm(folder, { recursive: true, force: true });
});

const expiredKey = `psk_${'e'.repeat(49)}`;
const otherKey = `psk_${'o'.repeat(49)}`;
const chat = { model: 'm', messages: [{ role: 'user', content: 'canary-prompt' }] };
const path = '/v1/chat/completions';
const ofKey = (key: string) => ({ authorization: `Bearer ${key}` });

function openJournal(): ReadableJournal {
  return openFileJournal(join(folder, 'journal'), systemClock, { failed() {}, dropped() {} });
}

async function start(journal: ReadableJournal): Promise<Rig> {
  const table = tableOf([{ baseUrl: wall.baseUrl }]);
  return await startRig(
    {
      ...table,
      keys: [
        ...table.keys,
        { ...keyEntry(expiredKey, 'team/old'), notAfterMs: 1 },
        { ...keyEntry(otherKey, 'other/limited'), models: { allow: ['*'], deny: [] } },
      ],
      routes: table.routes.map((route) => ({ ...route, sharedWith: '*' })),
    },
    { journal },
  );
}

/** All that the journal holds, into the ledger. @returns its text. */
async function takeAll(journal: ReadableJournal): Promise<string> {
  let text = '';
  for (let after = await store.cursorOf('pod'); ; ) {
    const page = await journal.read(after);
    if (page === undefined || page.bytes.length === 0) return text;
    const { skipped, ...lines } = readPage(page.bytes);
    expect([skipped, lines.asides]).toEqual([0, []]);
    await store.take({ source: 'pod', cursor: page.cursor, ...lines }, Date.now());
    text += page.bytes.toString();
    after = page.cursor;
  }
}

const all = { from: '2020-01-01', to: '2100-01-01', limit: 1_000 };

test('each refusal is in the ledger by key, model, status and code; served requests are not', async () => {
  const journal = openJournal();
  const rig = await start(journal);
  const statusOf = async (...call: [body: object | string, headers?: Record<string, string>]) =>
    (await post(rig, path, ...call)).status;
  expect([
    await statusOf(chat),
    await statusOf({ ...chat, model: 'no-such' }),
    await statusOf({ ...chat, temperature: 7 }),
    await statusOf('{'),
    await statusOf(chat, { authorization: 'Bearer psk_not-a-key-of-anybody-000' }),
    await statusOf(chat, ofKey(expiredKey)),
    await statusOf({ ...chat, model: 'no-such' }, ofKey(otherKey)),
    (await post(rig, '/v1/nowhere', chat)).status,
    (await post(rig, '/v1/messages/count_tokens', { ...chat, model: 'no-such' })).status,
  ]).toEqual([200, 404, 400, 400, 401, 401, 404, 404, 404]);
  const { raw } = {
    raw: await rawCall({ port: portOf(rig) }, { method: 'GET', path: '/v1/models/no-such', headers: bearer }),
  };
  expect(raw.status).toBe(404);
  await rig.close();
  const reopened = openJournal();
  const text = await takeAll(reopened);
  await reopened.close();
  expect(text).not.toContain('canary-prompt');
  expect(await store.refusals({ ...all, by: ['apiKey', 'model', 'status', 'code'] })).toEqual(
    [
      ['', '', '401', 'invalid_api_key', 1],
      ['other/limited', 'no-such', '404', 'model_not_found', 1],
      ['team/key', '', '400', 'invalid_parameter', 1],
      ['team/key', '', '404', 'model_not_found', 1],
      ['team/key', '', '404', 'not_found', 1],
      ['team/key', 'm', '400', 'invalid_parameter', 1],
      ['team/key', 'no-such', '404', 'model_not_found', 2],
      ['team/old', '', '401', 'invalid_api_key', 1],
    ].map(([apiKey, model, status, code, refused]) => ({ group: { apiKey, model, status, code }, refused })),
  );
  const singles = await store.singleRefusals(all);
  expect(singles).toHaveLength(9);
  expect(await store.records({ after: 0, limit: 10 })).toHaveLength(1);
});

test('a request that failed at an upstream is no refusal', async () => {
  const journal = openJournal();
  const table = tableOf([{ baseUrl: 'http://127.0.0.1:1/v1' }]);
  const rig = await startRig(table, { journal });
  const first = await post(rig, path, chat);
  expect(first.status).toBe(502);
  await rig.close();
  const reopened = openJournal();
  await takeAll(reopened);
  await reopened.close();
  expect(await store.refusals({ ...all, by: [] })).toEqual([]);
  expect((await store.records({ after: 0, limit: 10 })).length).toBeGreaterThan(0);
});

test('sums are exact through many callers at once, a restart and the drain', async () => {
  let refused = 0;
  for (let life = 0; life < 3; life++) {
    const journal = openJournal();
    const rig = await start(journal);
    const bodies = Array.from({ length: 300 }, (_, at) =>
      at % 3 === 0 ? chat : { ...chat, model: `no-${at % 7}` },
    );
    const statuses = await Promise.all(
      bodies.map(
        async (body, at) => (await post(rig, path, body, ofKey(at % 2 === 0 ? testKey : otherKey))).status,
      ),
    );
    refused += statuses.filter((status) => status !== 200).length;
    expect(statuses).toContain(200);
    // What the ledger has taken is acknowledged; the rest is there after the restart.
    await takeAll(journal);
    await rig.close();
  }
  const journal = openJournal();
  await takeAll(journal);
  await journal.close();
  expect(await store.refusals({ ...all, by: [] })).toEqual([{ group: {}, refused }]);
  const byNamespace = await store.refusals({ ...all, by: ['namespace'] });
  expect(byNamespace).toEqual([
    { group: { namespace: 'other' }, refused: refused / 2 },
    { group: { namespace: 'team' }, refused: refused / 2 },
  ]);
});
