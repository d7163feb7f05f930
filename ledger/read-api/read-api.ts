// What can be asked of the ledger over HTTP? Sums, series, requests, models, keys, budgets and health, and through it what a gateway would do, by
// whoever may get the ApiKeys concerned; and by operator and gateways, which know the exchange token, what keys have spent.

import { hash, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { z } from 'zod';
import { PLAN_BODY_BYTES_MAX } from '../../gateway/contract/plan.ts';
import { SPEND_KEYS_MAX, SPEND_PATH, type SpendReport } from '../../gateway/contract/spend.ts';
import type { Clock } from '../../kube/clock.ts';
import type { GatewayAsker } from '../ask-gateway.ts';
import type { Budgeted } from '../budgets.ts';
import { periodsOf } from '../store/periods.ts';
import { daysAround } from '../store/spans.ts';
import type { Dimension, LedgerStore, Spender, SumsQuery } from '../store/store.ts';
import type { Access } from './access.ts';
import { healthAnswer, modelsAnswer, moreAnswer, pageOf, rowsAnswer, spendAnswer } from './answers.ts';
import { budgetAnswer, budgetRows } from './budgets.ts';
import {
  ApiError,
  away,
  badMethod,
  badParameter,
  noToken,
  notAllowed,
  notFound,
  tooBusy,
  tooLarge,
} from './errors.ts';
import { type Asked, ROWS_MAX, readParameters, sumsQueryOf } from './parameters.ts';
import { isRelayed, RELAYED_PATHS, readQuestion, relayQuestion } from './plan.ts';
import { requestsAnswer } from './requests.ts';
import { seriesAnswer } from './series.ts';
import { readSpendPage } from './spend-page.ts';

export interface ReadApiParts {
  readonly store: LedgerStore;
  /** Undefined: nobody but the operator may ask. */
  readonly access: Access | undefined;
  readonly clock: Clock;
  /** Of ApiKeys and of whole namespaces, in an order that stays; undefined while they are not known. */
  budgets(): readonly Budgeted[] | undefined;
  /** What would happen with a request is for them to say. */
  readonly gateways: Pick<GatewayAsker, 'ask'>;
  /** The exchange token; undefined while it is not known. */
  token(): string | undefined;
  /** Something that is our fault. */
  onFailure(error: unknown): void;
}

/** Questions of people at once; further ones are told to come back. Operator and gateways never are: by their answers budgets are kept. */
const questionsMax = 32;

type Answer = (parts: ReadApiParts, asked: Asked) => Promise<unknown>;

/** What some questions have no answer by: whoever asks for it would take another one for it. */
const withoutParameters: Readonly<Record<string, readonly string[]>> = {
  // A request may have had attempts at several.
  '/v1/requests': ['by', 'provider', 'upstreamModel', 'payer', 'outcome'],
  // Its days are those of its period, whatever was called in them.
  '/v1/budgets': [
    ...['from', 'to', 'by', 'interval'],
    ...['route', 'provider', 'model', 'upstreamModel', 'payer', 'outcome'],
  ],
};

const ofSeries: readonly string[] = ['top', 'topBy'];

const answers: Readonly<Record<string, Answer>> = {
  async '/v1/sums'({ store }, asked) {
    return { ...periodOf(asked), ...rowsAnswer(await store.sums(sumsQueryOf(asked, asked.by)), asked) };
  },
  '/v1/series': ({ store }, asked) => seriesAnswer(store, asked),
  async '/v1/requests'({ store }, asked) {
    const { interval = 'day', to, where } = asked;
    const { keptFrom } = await store.state();
    // How a request ended stands in its records alone.
    const from = keptFrom > asked.from ? keptFrom : asked.from;
    const query = { from, to, interval, where };
    const [requests, ends, firstContents] = await Promise.all([
      store.sums({ from, to, where, by: [interval], limit: ROWS_MAX }),
      store.ends(query),
      store.firstContents(query),
    ]);
    const { total, rows } = requestsAnswer(interval, requests, ends, firstContents);
    const { page, ...more } = pageOf(rows, asked);
    return { from, to, interval, total, rows: page, ...more };
  },
  async '/v1/models'({ store }, asked) {
    const [rows, outcomes, latest] = await Promise.all([
      store.sums(sumsQueryOf(asked, ['model'])),
      store.sums(allOf(asked, ['model', 'outcome'])),
      store.latest(asked),
    ]);
    return { ...periodOf(asked), ...modelsAnswer(rows, outcomes, latest, asked) };
  },
  async '/v1/keys'(parts, asked) {
    const { spends, ...more } = await spendersIn(parts, asked, 'apiKey');
    return { keys: spends.map(({ name, ...spend }) => ({ apiKey: name, ...spend })), ...more };
  },
  async '/v1/namespaces'(parts, asked) {
    const { spends, ...more } = await spendersIn(parts, asked, 'namespace');
    return { namespaces: spends.map(({ name, ...spend }) => ({ namespace: name, ...spend })), ...more };
  },
  async '/v1/budgets'({ store, clock, budgets }, asked) {
    const all = budgets();
    if (all === undefined) throw away('the budgets of ApiKeys have not been read yet; ask again');
    const found = budgetRows(all, asked.where);
    const { page: rows, ...more } = pageOf(found, asked);
    const nowMs = clock.wallMs();
    const spendOf = async (spender: Spender) => {
      const names = new Set(rows.filter((row) => row.spender === spender).map(({ name }) => name));
      const spends = names.size === 0 ? [] : await store.spendOf(spender, [...names], nowMs);
      return new Map(spends.map((spend) => [spend.name, spend]));
    };
    const spent = { apiKey: await spendOf('apiKey'), namespace: await spendOf('namespace') };
    return {
      budgets: rows.map((row) => budgetAnswer(row, spent[row.spender].get(row.name), nowMs)),
      ...more,
    };
  },
  async '/v1/health'({ store }, asked) {
    // Which vendors are behind a route is the platform's own business.
    const by =
      asked.where.namespace === undefined ? (['provider', 'upstreamModel'] as const) : (['route'] as const);
    const [rows, failures] = await Promise.all([
      store.sums(allOf(asked, [...by, 'outcome'])),
      store.lastFailures(by, asked),
    ]);
    const { page, ...more } = pageOf(healthAnswer(rows, by, failures), asked);
    return { ...periodOf(asked), health: page, ...more };
  },
};

/** Those that were used in the days that are asked for, with what they spent in the periods that now is in. */
async function spendersIn({ store, clock }: ReadApiParts, asked: Asked, spender: Spender) {
  const nowMs = clock.wallMs();
  const { by: _, ...query } = sumsQueryOf(asked, []);
  // What they spent is told by the day too; and of hours only records know who was used in them.
  const used = await store.used({ ...query, ...daysAround(asked), spender });
  const names = used.slice(0, asked.limit);
  const spends = await store.spendOf(spender, names, nowMs);
  const since = periodsOf(nowMs);
  const byName = new Map(spends.map((spend) => [spend.name, spend]));
  const inOrder = names.flatMap((name) => byName.get(name) ?? []);
  return {
    spends: inOrder.map((spend) => ({ name: spend.name, ...spendAnswer(spend, since) })),
    ...moreAnswer(used.length, asked),
  };
}

/** What is shown whole, or beside rows of a page. */
function allOf(asked: Asked, by: readonly Dimension[]): SumsQuery {
  return sumsQueryOf({ ...asked, limit: ROWS_MAX, offset: 0 }, by);
}

const periodOf = ({ from, to }: Asked) => ({ from, to });

export function buildReadApi(parts: ReadApiParts): Server {
  let questions = 0;
  const server = createServer((request, response) => {
    const isPersons = request.url?.split('?')[0] !== SPEND_PATH;
    if (isPersons && questions >= questionsMax) {
      answerError(response, tooBusy('the ledger is answering other questions; ask again'));
      return;
    }
    if (isPersons) questions += 1;
    handle(parts, request)
      .then(
        (body) => answerJson(response, 200, body),
        (error: unknown) => {
          if (error instanceof ApiError) {
            answerError(response, error);
            return;
          }
          parts.onFailure(error);
          answerError(response, away('the ledger cannot answer at this moment; ask again'));
        },
      )
      .finally(() => {
        if (isPersons) questions -= 1;
      });
  });
  server.requestTimeout = 10_000;
  server.keepAliveTimeout = 75_000;
  return server;
}

async function handle(parts: ReadApiParts, request: IncomingMessage): Promise<unknown> {
  const url = URL.parse(request.url ?? '/', 'http://ledger');
  const { pathname = '', searchParams = new URLSearchParams() } = url ?? {};
  if (pathname === SPEND_PATH) {
    expectMethod(request, 'GET');
    expectToken(parts, bearerOf(request));
    return await spendSince(parts, searchParams);
  }
  const answer = Object.hasOwn(answers, pathname) ? answers[pathname] : undefined;
  if (isRelayed(pathname)) {
    expectMethod(request, 'POST');
    return await relay(parts, pathname, request);
  }
  if (answer === undefined)
    throw notFound(`only ${[...Object.keys(answers), ...RELAYED_PATHS].join(', ')} are here`);
  expectMethod(request, 'GET');
  const token = personsToken(request);
  const asked = readParameters(searchParams, parts.clock.wallMs());
  const without = [...(withoutParameters[pathname] ?? []), ...(pathname === '/v1/series' ? [] : ofSeries)];
  const unknown = without.find((name) => searchParams.has(name));
  if (unknown !== undefined) throw badParameter(`${unknown}: is no parameter of ${pathname}`);
  await expectAccess(parts, token, asked);
  return await answer(parts, asked);
}

function expectMethod({ method }: IncomingMessage, allowed: 'GET' | 'POST'): void {
  if (method !== allowed && !(allowed === 'GET' && method === 'HEAD')) throw badMethod(allowed);
}

function personsToken(request: IncomingMessage): string {
  const token = bearerOf(request);
  if (token !== '') return token;
  throw noToken(
    'send a token of Kubernetes as Authorization: Bearer …, such as that of kubectl create token',
  );
}

async function relay(
  parts: ReadApiParts,
  pathname: Parameters<typeof readQuestion>[0],
  request: IncomingMessage,
): Promise<unknown> {
  const token = personsToken(request);
  const question = readQuestion(pathname, await readBody(request));
  await expectAccessTo(parts, token, question.asked.namespace);
  const seesProviders = (await parts.access?.judge(token, undefined)) === 'allowed';
  return await relayQuestion(parts.gateways, question, seesProviders);
}

/** @throws {ApiError} where it is too large. */
async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
    if (!Buffer.isBuffer(chunk)) continue;
    bytes += chunk.length;
    if (bytes > PLAN_BODY_BYTES_MAX)
      throw tooLarge(
        `body: is larger than ${PLAN_BODY_BYTES_MAX} bytes; a shorter one of its kind says the same`,
      );
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

async function expectAccess(parts: ReadApiParts, token: string, { where, by }: Asked): Promise<void> {
  const { namespace } = where;
  await expectAccessTo(parts, token, namespace);
  const hidden = (['provider', 'upstreamModel'] as const).find(
    (dimension) => by.includes(dimension) || where[dimension] !== undefined,
  );
  // Gateways may be told not to name providers to callers; the ledger does not either.
  if (namespace !== undefined && hidden !== undefined)
    throw notAllowed(`${hidden}: is the platform's own business; ask without ?namespace=…, where you may`);
}

/** @param namespace Undefined: all of them. */
async function expectAccessTo(
  { access }: ReadApiParts,
  token: string,
  namespace: string | undefined,
): Promise<void> {
  if (access === undefined) throw notAllowed('this ledger answers nobody but the operator');
  switch (await access.judge(token, namespace)) {
    case 'unknown':
      throw noToken('Kubernetes does not know the token, or it has expired');
    case 'refused':
      throw notAllowed(
        namespace === undefined
          ? 'the whole ledger is for who may get apikeys.penstock.dev in all namespaces; name one with ?namespace=…'
          : `you may not get apikeys.penstock.dev in the namespace ${namespace}`,
      );
    case 'allowed':
  }
}

function bearerOf({ headers }: IncomingMessage): string {
  return /^Bearer (\S+)$/i.exec(headers.authorization ?? '')?.[1] ?? '';
}

function expectToken({ token }: ReadApiParts, given: string): void {
  const expected = token();
  if (expected === undefined)
    throw away('the pointer Secret has not been read yet, and so no token is known');
  const digest = (text: string): Buffer => hash('sha256', text, 'buffer');
  // In constant time, whatever the lengths.
  if (!timingSafeEqual(digest(given), digest(expected)))
    throw noToken('the bearer is not the exchange token of the pointer Secret');
}

const spendParameters = z.strictObject({
  after: z.coerce.number().int().min(0).max(Number.MAX_SAFE_INTEGER).default(0),
  limit: z.coerce.number().int().min(1).max(SPEND_KEYS_MAX).default(SPEND_KEYS_MAX),
});

async function spendSince({ store, clock }: ReadApiParts, search: URLSearchParams): Promise<SpendReport> {
  const parsed = spendParameters.safeParse(Object.fromEntries(search));
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw badParameter(`${issue?.path.join('.')}: ${issue?.message}`);
  }
  return await readSpendPage(store.spend, clock.wallMs(), parsed.data);
}

function answerError(response: ServerResponse, { status, message, type, code, allow }: ApiError): void {
  if (status === 401) response.setHeader('www-authenticate', 'Bearer');
  if (status === 405) response.setHeader('allow', allow);
  // What is left of a body that is refused is not read.
  if (status === 413) response.setHeader('connection', 'close');
  if (status === 503) response.setHeader('retry-after', '1');
  answerJson(response, status, { error: { message, type, code } });
}

function answerJson(response: ServerResponse, status: number, body: unknown): void {
  if (response.headersSent || response.destroyed) return;
  const text = `${JSON.stringify(body)}\n`;
  response.writeHead(status, {
    'content-type': 'application/json',
    'cache-control': 'no-store',
    'content-length': Buffer.byteLength(text),
  });
  response.end(text);
}
