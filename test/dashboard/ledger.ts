// How are the ledger's answers handed on? As they are, asked with the person's own token; the real read API says what they may see.

import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../core/clock.ts';
import { LedgerAway } from '../../dashboard/cluster.ts';
import { openLedger } from '../../dashboard/ledger.ts';
import { openAccess } from '../../ledger/read-api/access.ts';
import { buildReadApi } from '../../ledger/read-api/read-api.ts';
import { openSqliteStore } from '../../ledger/store/sqlite.ts';
import type { ControlPlane } from '../cluster/control-plane.ts';
import { makeEntry } from '../ledger/make-entry.ts';
import { noGateways } from '../ledger/read-house.ts';
import { makeFakeClock } from '../support/fake-clock.ts';
import { listenKept } from '../support/listen-kept.ts';
import { type Browser, type House, openBrowser, openHouse, type People } from './house.ts';

export function ledgerSuite(plane: () => ControlPlane, people: () => People): void {
  const nowMs = Date.now();
  let house: House;
  let editor: Browser;
  let viewer: Browser;
  let nobody: Browser;
  const ends: (() => unknown)[] = [];

  beforeAll(async () => {
    const folder = await mkdtemp(join(tmpdir(), 'penstock-ledger-'));
    ends.push(() => rm(folder, { recursive: true, force: true }));
    const store = await openSqliteStore(join(folder, 'ledger.sqlite'));
    ends.push(() => store.close());
    // The day is that of the record until the last question, also over midnight.
    const clock = { ...systemClock, wallMs: () => nowMs };
    const startedAt = new Date(nowMs).toISOString();
    const record = {
      namespace: 'team-a',
      apiKey: 'team-a/bot',
      startedAt,
      costPicodollars: 2_500_000_000_000,
    };
    await store.take(
      { source: 'p', cursor: 'c', entries: [makeEntry({ id: '1.1', ...record })], asides: [] },
      nowMs,
    );
    const server = buildReadApi({
      ...{ store, clock, access: openAccess(plane().client, clock) },
      ...{ budgets: () => undefined, gateways: noGateways, token: () => 'x', onFailure() {} },
    });
    const { port, close } = await listenKept(server);
    ends.push(close);
    const ledger = openLedger(`http://127.0.0.1:${port}`, clock);
    ends.push(() => ledger.close());
    house = await openHouse(plane(), { ledger, clock });
    ends.push(() => house.close());
    [editor, viewer, nobody] = [openBrowser(house), openBrowser(house), openBrowser(house)];
    await editor.signIn(people().editor);
    await viewer.signIn(people().viewer);
    await nobody.signIn(people().nobody);
    const owner = { name: 'Ada', team: 'Search' };
    for (const [name, spec] of [['bot', { owner }] as const, ['idle', {}] as const])
      await editor.ask('/api/kube/apis/penstock.dev/v1alpha1/namespaces/team-a/apikeys', {
        method: 'POST',
        body: { apiVersion: 'penstock.dev/v1alpha1', kind: 'ApiKey', metadata: { name }, spec },
      });
  });
  afterAll(async () => {
    for (const end of ends.reverse()) await end();
  });

  test('the ledger checks the rights of each user, and its refusals are passed through', async () => {
    const own = await editor.ask('/api/ledger/v1/sums?by=model&namespace=team-a');
    expect([own.status, own.body.rows[0].costUsd]).toEqual([200, '2.5']);
    for (const query of ['', '?namespace=team-b']) {
      const { status, body } = await editor.ask(`/api/ledger/v1/sums${query}`);
      expect([status, body.error]).toEqual([
        403,
        expect.objectContaining({ code: 'forbidden', type: 'permission_error' }),
      ]);
    }
    expect((await viewer.ask('/api/ledger/v1/sums?by=provider')).status).toBe(200);
    expect((await viewer.ask('/api/ledger/v1/sums?by=weather')).body.error.code).toBe('invalid_parameter');
    // What operator and gateways ask is none of people's.
    for (const path of [
      '/api/ledger/internal/v1/spend',
      '/api/ledger/v1/spend',
      '/api/ledger/v1/../internal',
      '/api/ledger/v1/',
    ])
      expect((await viewer.ask(path)).status, path).toBe(404);
  });

  const day = new Date(nowMs).toISOString().slice(0, 10);
  const days = `from=${day}&to=${new Date(Date.parse(day) + 86_400_000).toISOString().slice(0, 10)}`;

  test.each([
    ...['sums', 'series', 'refusals', 'requests', 'request-log', 'models', 'health'].map(
      (name) => [`ledger/v1/${name}`, 'get', 'apikeys'] as const,
    ),
    ['owners', 'list', 'apikeys'] as const,
    ['ledger/v1/connection-check', 'create', 'providers'] as const,
  ])('%s answers users who may %s %s, exactly as kubectl says', async (path, verb, kind) => {
    const isCheck = path.endsWith('connection-check');
    // A test is about a Provider, which has a namespace.
    for (const [name, browser] of Object.entries({ editor, viewer, nobody }))
      for (const namespace of ['team-a', 'team-b', ...(isCheck ? [] : [undefined])]) {
        const place = namespace === undefined ? '-A' : `--namespace=${namespace}`;
        const as = `--as=system:serviceaccount:team-a:${name}`;
        const { stdout } = await plane().kubectl(['auth', 'can-i', verb, `${kind}.penstock.dev`, place, as]);
        const isAllowed = stdout.trim() === 'yes';
        const { status } = isCheck
          ? await browser.ask(`/api/${path}`, { method: 'POST', body: { namespace, provider: 'x' } })
          : await browser.ask(`/api/${path}?${days}${namespace ? `&namespace=${namespace}` : ''}`);
        // Of those who may test, no gateway is there to be asked.
        expect([name, namespace, status]).toEqual([name, namespace, isAllowed ? (isCheck ? 503 : 200) : 403]);
      }
  });

  test('keys are shown with their spend up to now', async () => {
    for (const browser of [editor, viewer]) {
      const { body } = await browser.ask('/api/rows/apikeys?namespace=team-a&sort=spend&order=desc');
      expect(body.spendFrom).toBe('ledger');
      expect(body.rows.map(({ name, spend }: { name: string; spend: unknown }) => [name, spend])).toEqual([
        ['bot', { day: '2.5', month: '2.5', total: '2.5' }],
        ['idle', { day: '0', month: '0', total: '0' }],
      ]);
    }
  });

  test('the use of keys is added up by owner and team, for users who may list keys', async () => {
    for (const [browser, where] of [[editor, '&namespace=team-a'] as const, [viewer, ''] as const]) {
      const { status, body } = await browser.ask(`/api/owners?${days}${where}`);
      const named = (rows: readonly { name: string; cost: number; requests: number }[]) =>
        rows.map(({ name, cost, requests }) => [name, cost, requests]);
      expect([status, named(body.owners), named(body.teams)]).toEqual([
        200,
        [['Ada', 2.5, 1]],
        [['Search', 2.5, 1]],
      ]);
    }
    for (const where of ['', '&namespace=team-b'])
      expect((await editor.ask(`/api/owners?${days}${where}`)).status).toBe(403);
    for (const query of ['', `?${days}&topBy=name`, `?${days}&namespace=Team_A`])
      expect((await editor.ask(`/api/owners${query}`)).body.error.code, query).toBe('invalid_parameter');
  });

  /** Something that is reached as the ledger is. */
  async function reach(
    answer: (request: IncomingMessage, response: ServerResponse) => void,
    clock = systemClock,
  ) {
    const server = createServer(answer);
    const { port, close } = await listenKept(server);
    const ledger = openLedger(`http://127.0.0.1:${port}`, clock);
    onTestFinished(async () => {
      ledger.close();
      await close();
    });
    return { ledger, server };
  }

  const signal = new AbortController().signal;

  test('a question is passed on unchanged: method, query, body and token', async () => {
    const { ledger } = await reach((request, response) => {
      let body = '';
      const { method, url, headers } = request;
      request.setEncoding('utf8').on('data', (chunk) => {
        body += chunk;
      });
      request.on('end', () => {
        response
          .writeHead(418)
          .end(JSON.stringify([method, url, body, headers.authorization, headers['content-type']]));
      });
    });
    const plan = {
      method: 'POST',
      path: '/v1/plan',
      search: '?a=%20b',
      body: '{"x":1}',
      token: 't',
      signal,
    } as const;
    expect(await ledger.ask(plan)).toEqual({
      status: 418,
      text: JSON.stringify(['POST', '/v1/plan?a=%20b', '{"x":1}', 'Bearer t', 'application/json']),
    });
    const question = { method: 'GET', path: '/v1/sums', search: '', token: 't', signal } as const;
    expect(JSON.parse((await ledger.ask(question)).text)).toEqual(['GET', '/v1/sums', '', 'Bearer t', null]);
  });

  test('a question not answered in time, in full or at all gets an error', async () => {
    const clock = { ...makeFakeClock(), wallMs: () => 0 };
    const question = { method: 'GET', path: '/v1/sums', search: '', token: 't', signal } as const;
    const silent = await reach(() => {}, clock);
    const asked = silent.ledger.ask(question);
    await once(silent.server, 'request');
    clock.advance(15_000);
    await expect(asked).rejects.toThrow('did not answer within 15 s');
    const cut = await reach(
      (_, response) => void response.writeHead(200).write('x', () => response.destroy()),
    );
    await expect(cut.ledger.ask(question)).rejects.toThrow('broke off');
    const endless = await reach((_, response) => void response.end(Buffer.alloc(17 * 2 ** 20)));
    await expect(endless.ledger.ask(question)).rejects.toThrow('longer than');
    await expect(openLedger('http://127.0.0.1:1', clock).ask(question)).rejects.toThrow(LedgerAway);
  });
}
