// What is a caller reported when its request fails? Every row of the table, in each dialect, plain and streamed, over the wire; and
// nothing of what a provider says of itself or of its account ever goes out.

import { readFileSync } from 'node:fs';
import { afterEach, describe, expect, test } from 'vitest';
import { ERROR_CODES } from '../../core/catalog/error-codes.ts';
import type { DialectName, ProviderEntry } from '../../core/contract/routing-table.ts';
import { type Rig, type RigTarget, startRig, tableOf } from '../gateway/rig.ts';
import { rawCall } from '../support/raw-client.ts';
import { closedPort, startWall, type Wall } from '../support/wall.ts';
import { type Endpoint, isBag, portOf, requestOf, type Seen } from './ask.ts';
import { type ReportedRow, reportedRows, shownElsewhere } from './reported.ts';

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

const native: Readonly<Record<Endpoint, DialectName>> = {
  chat: 'openai-chat',
  completions: 'openai-completions',
  responses: 'openai-responses',
  messages: 'anthropic-messages',
};
const endpoints = Object.keys(native).filter((name): name is Endpoint => name in native);
const modes = ['plain', 'stream'] as const;
type Mode = (typeof modes)[number];

test('every code of the table is tested, here or elsewhere', () => {
  const shown = new Set<string>([...reportedRows.map(({ error }) => error), ...Object.keys(shownElsewhere)]);
  expect(Object.keys(ERROR_CODES).filter((code) => !shown.has(code))).toEqual([]);
  for (const [code, file] of Object.entries(shownElsewhere)) {
    const text = readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8');
    expect(text, `${file} is said to show ${code}`).toContain(code);
  }
});

describe.each(reportedRows.map((row) => [row.when, row] as const))('%s', (_, row) => {
  test(`${row.status} ${row.code}, in each dialect, plain and streamed`, async () => {
    const { rig, wall } = await stageOf(row);
    for (const endpoint of row.endpoints ?? endpoints) {
      for (const mode of modes) {
        const model = modelOf(endpoint, mode);
        let callsBefore = wall?.calls.length ?? 0;
        let seen = await ask(rig, row, endpoint, mode);
        // One request a second goes to the least bad of open circuits.
        for (let more = 20; row.isOpen && seen.status !== row.status && more > 0; more--) {
          callsBefore = wall?.calls.length ?? 0;
          seen = await ask(rig, row, endpoint, mode);
        }
        expectReported(seen, row, endpoint);
        const calls = row.isOpen ? 0 : (row.calls ?? (row.provider === undefined ? 0 : 1));
        if (wall) expect(wall.calls.length - callsBefore, `calls for ${model}`).toBe(calls);
      }
    }
    expect(rig.failures.length > 0).toBe(row.hasBug ?? false);
  });
});

async function stageOf(row: ReportedRow): Promise<{ rig: Rig; wall: Wall | undefined }> {
  const wall = row.provider === 'refused' ? undefined : await startWall(row.provider);
  if (wall) closers.push(() => wall.close());
  const baseUrl = wall?.baseUrl ?? `http://127.0.0.1:${await nobody()}/v1`;
  // Each request a provider of its own: what one earns, such as a rest, is not for the next.
  const tables = endpoints.flatMap((endpoint) => modes.map((mode) => tableFor(row, baseUrl, endpoint, mode)));
  const table = {
    ...tableOf([]),
    providers: tables.flatMap(({ providers }) => providers),
    routes: tables.flatMap(({ routes }) => routes),
  };
  const rig = await startRig(row.hasNoTable ? undefined : table, {
    random: row.hasBug ? failing : () => 0,
  });
  closers.push(() => rig.close());
  return { rig, wall };
}

function failing(): never {
  throw new Error('acct-canary: a bug');
}

async function nobody(): Promise<number> {
  const { port, close } = await closedPort();
  closers.push(close);
  return port;
}

function tableFor(row: ReportedRow, baseUrl: string, endpoint: Endpoint, mode: Mode) {
  const dialects = [row.upstream ?? native[endpoint]];
  const breaker: ProviderEntry['breaker'] = {
    consecutiveFailures: row.isOpen ? 1 : 0,
    openForMs: 300_000,
    maxOpenMs: 300_000,
    rateLimitCooldownMs: 1,
  };
  const model = modelOf(endpoint, mode);
  const isPlatform = row.isOwnProvider !== true;
  const target: RigTarget = {
    baseUrl,
    provider: `${isPlatform ? 'platform' : 'team'}/${model}`,
    providerEntry: { breaker, dialects, isPlatform },
    dialects,
    priority: 0,
    ...(row.timeouts && { timeouts: row.timeouts }),
  };
  // The bug is in the choice between two.
  const targets = row.hasBug ? [target, { ...target, provider: `platform/${model}-2` }] : [target];
  const table = tableOf(targets, { id: `team/${model}`, model });
  const { retryOn } = row;
  if (retryOn === undefined) return table;
  const routes = table.routes.map((route) => ({ ...route, failover: { ...route.failover, retryOn } }));
  return { ...table, routes };
}

function modelOf(endpoint: Endpoint, mode: Mode): string {
  return `${endpoint}-${mode}`;
}

function ask(rig: Rig, row: ReportedRow, endpoint: Endpoint, mode: Mode): Promise<Seen> {
  const isStream = mode === 'stream';
  const good = requestOf({ endpoint, isStream, more: { model: modelOf(endpoint, mode) } });
  return rawCall({ port: portOf(rig) }, row.request?.(good) ?? good);
}

function expectReported(seen: Seen, row: ReportedRow, endpoint: Endpoint): void {
  const isMessages = endpoint === 'messages';
  const where = `${row.when}, ${endpoint}`;
  const { json } = seen;
  if (!isBag(json) || !isBag(json.error)) throw new Error(`${where}: no error body: ${seen.text}`);
  const { message, ...error } = json.error;
  expect([seen.status, seen.ending], where).toEqual([row.status, 'length-complete']);
  const type = isMessages ? row.messagesType : row.type;
  const wanted = isMessages ? row.messageOnMessages : row.message;
  if (wanted ?? row.message) expect(message).toBe(wanted ?? row.message);
  expect(message).toMatch(/\w/);
  if (isMessages) {
    expect(error, where).toEqual({ type, code: row.code });
    expect({ ...json, error: null }).toEqual({
      type: 'error',
      error: null,
      request_id: seen.headers['request-id'],
    });
  } else {
    expect(error, where).toEqual({ type, code: row.code, param: row.param ?? null });
    expect(Object.keys(json)).toEqual(['error']);
  }
  expectHeaders(seen, row);
}

function expectHeaders({ headers, rawHeaders, text }: Seen, row: ReportedRow): void {
  expect(headers).toMatchObject({
    'content-type': 'application/json',
    'cache-control': 'no-store',
    'x-request-id': expect.stringMatching(/^req_/),
    'request-id': headers['x-request-id'],
    ...row.headers,
    ...(row.headers?.['retry-after-ms'] ? { 'retry-after-ms': expect.any(String) } : {}),
  });
  expect(headers['x-should-retry']).toBe(row.isFinal ? 'false' : undefined);
  for (const name of ['retry-after', 'www-authenticate', 'allow']) {
    expect([name, headers[name]]).toEqual([name, row.headers?.[name]]);
  }
  expectWaitMs(headers['retry-after-ms'], row.headers?.['retry-after-ms']);
  if (row.provider !== undefined) expect(Number(headers['x-penstock-attempts'])).toBeGreaterThanOrEqual(0);
  // Neither what a provider says of itself or the account, nor where it is.
  expect(JSON.stringify([rawHeaders, text])).not.toMatch(/acct-canary|10\.1\.2\.3|127\.0\.0\.1/);
}

/** What is left of it: a key's rest goes on while the answer is written. */
function expectWaitMs(reported: string | undefined, whole: string | undefined): void {
  if (reported === undefined || whole === undefined) {
    expect(reported).toBe(whole);
    return;
  }
  expect(reported).toMatch(/^\d+$/);
  expect(Number(reported)).toBeLessThanOrEqual(Number(whole));
  expect(Number(reported)).toBeGreaterThan(Number(whole) - 1_000);
}
