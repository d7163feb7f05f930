// The ledger's HTTP API. For callers that may get the ApiKeys concerned: sums, series, requests one by one and counted, models, keys,
// budgets, health, plans of a gateway; for those that may write Providers: tests of a connection. For operator and gateways, with the
// exchange token: the spend of keys.

import { hash, timingSafeEqual } from 'node:crypto';
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http';
import { z } from 'zod';
import type { Clock } from '../../core/clock.ts';
import { PLAN_BODY_BYTES_MAX } from '../../core/contract/plan.ts';
import { SPEND_DAY_HEADER, SPEND_KEYS_MAX, SPEND_PATH, type SpendReport } from '../../core/contract/spend.ts';
import { serverPatience } from '../../core/kube/server-patience.ts';
import type { GatewayAsker } from '../ask-gateway.ts';
import type { Budgeted } from '../budgets.ts';
import { periodsOf } from '../store/periods.ts';
import { boundsOf, daysAround } from '../store/spans.ts';
import type { FilterName, LedgerStore, Spender } from '../store/store.ts';
import { type Access, unknownToken } from './access.ts';
import {
  costsAnswer,
  healthAnswer,
  JsonText,
  modelsAnswer,
  moreAnswer,
  nothing,
  pageOf,
  rowsAnswer,
  spendAnswer,
  withRefusedOnly,
} from './answers.ts';
import { budgetAnswer, budgetRows, type Fleet, readSpent, usedUpTo, withFirstDays } from './budgets.ts';
import {
  type CheckPace,
  CONNECTION_CHECK_PATH,
  expectMayCheck,
  openCheckPace,
  readCheckQuestion,
  relayCheck,
} from './connection-check.ts';
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
import { lastFailoverAnswer } from './last-failover.ts';
import { LOG_PATH, readLogQuestion } from './log-question.ts';
import { type Asked, ROWS_MAX, readParameters, sumsQueryOf } from './parameters.ts';
import { isRelayed, RELAYED_PATHS, readQuestion, relayQuestion } from './plan.ts';
import { readRefusalParameters, refusalsAnswer, refusedBy } from './refusals.ts';
import { requestLogAnswer } from './request-log.ts';
import { requestsAnswer } from './requests.ts';
import { seriesAnswer } from './series.ts';
import { readSpendPage } from './spend-page.ts';

export interface ReadApiParts {
  readonly store: LedgerStore;
  /** Undefined: only the operator may ask. */
  readonly access: Access | undefined;
  readonly clock: Clock;
  /** Of ApiKeys and of whole namespaces, in an order that stays; undefined while they are not known. */
  budgets(): readonly Budgeted[] | undefined;
  /** What would happen with a request is for them to say. */
  readonly gateways: Pick<GatewayAsker, 'ask'>;
  /** Absent, or undefined: answers have no overshoot of budgets. */
  fleet?(): Fleet | undefined;
  /** The exchange token; undefined while it is not known. */
  token(): string | undefined;
  /** Something that is our fault. */
  onFailure(error: unknown): void;
}

/** Concurrent questions of people; further ones get a retry later. Operator and gateways have no such limit: budgets depend on their answers. */
const questionsMax = 32;

/** Batch of names for questions about thousands: between two batches journals can be stored. */
const namesAtOnce = 500;

/** For a longer period, first-token times of models and providers are not read, because no sums hold them. */
const firstContentsMsMax = 2 * 3_600_000;

type Answer = (parts: ReadApiParts, asked: Asked) => Promise<unknown>;

/** What rows are by, where that is not the question's own to say. */
const ofRows = ['by', 'interval'] as const;
/** Parameters that narrow spend to a part, which only `sums` knows: the spend of a spender is kept as a whole. */
const ofParts = ['route', 'provider', 'model', 'upstreamModel', 'payer', 'outcome'] as const;

/** Parameters that a question does not support: ignoring them would give a misleading answer. */
const withoutParameters: Readonly<Record<string, readonly string[]>> = {
  // Over time it is /v1/series, or by=day.
  '/v1/sums': ['interval'],
  '/v1/refusals': ofParts.filter((name) => name !== 'model'),
  '/v1/models': ofRows,
  '/v1/health': ofRows,
  // A request may have had attempts at several.
  '/v1/requests': ['by', 'provider', 'upstreamModel', 'payer', 'outcome'],
  '/v1/keys': [...ofRows, ...ofParts],
  '/v1/namespaces': [...ofRows, 'apiKey', ...ofParts],
  // Of all that were used since a moment: those of a time that is over, or one by its name, are in /v1/keys.
  '/v1/costs': ['to', ...ofRows, 'apiKey', ...ofParts],
  '/v1/uses': [...ofRows, 'apiKey', ...ofParts],
  // Its days are those of its period, whatever was called in them.
  '/v1/budgets': ['from', 'to', ...ofRows, ...ofParts],
};

/** What one question alone has. */
const ofOne: Readonly<Record<string, readonly string[]>> = {
  '/v1/series': ['top', 'topBy'],
  '/v1/budgets': ['usedShare', 'spender'],
};

const answers: Readonly<Record<string, Answer>> = {
  async '/v1/sums'({ store }, asked) {
    const [found, refused] = await Promise.all([
      store.sums(sumsQueryOf(asked, asked.by)),
      refusedBy(store, asked, asked.by, asked.where),
    ]);
    const rows = withRefusedOnly(found, asked.by, asked, refused, (group) => ({ group, sums: nothing }));
    return { ...periodOf(asked), ...rowsAnswer(rows, asked, refused) };
  },
  '/v1/series': ({ store }, asked) => seriesAnswer(store, asked),
  '/v1/refusals': ({ store }, asked) => refusalsAnswer(store, asked),
  async '/v1/requests'({ store }, asked) {
    const { interval = 'day', to, where } = asked;
    const { keptFrom } = await store.state();
    // Only records have the outcome of a request.
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
    const [rows, latest, firstContents] = await Promise.all([
      store.outcomes(sumsQueryOf(asked, ['model'])),
      store.latest(asked),
      firstContentsBy(store, ['model'], asked),
    ]);
    return { ...periodOf(asked), ...modelsAnswer(rows, latest, firstContents, asked) };
  },
  async '/v1/keys'(parts, asked) {
    const { spends, ...more } = await spendersIn(parts, asked, 'apiKey');
    return { keys: spends.map(({ name, ...spend }) => ({ apiKey: name, ...spend })), ...more };
  },
  async '/v1/namespaces'(parts, asked) {
    const { spends, ...more } = await spendersIn(parts, asked, 'namespace');
    return { namespaces: spends.map(({ name, ...spend }) => ({ namespace: name, ...spend })), ...more };
  },
  async '/v1/costs'({ store, clock }, asked) {
    const { from, limit, offset } = asked;
    const query = { spender: 'apiKey', usedSinceMs: Date.parse(from), limit, offset } as const;
    const costs = await store.costs({ ...query, namespace: asked.where.namespace, nowMs: clock.wallMs() });
    return costsAnswer(costs, asked);
  },
  async '/v1/uses'({ store }, asked) {
    const { from, to, limit, offset, where } = asked;
    const { namespace } = where;
    const found = await store.uses({ from, to, namespace, limit: limit + 1, offset });
    const rows = found.slice(0, limit);
    return { ...periodOf(asked), columns: usesColumns, rows, ...moreAnswer(found.length, asked) };
  },
  async '/v1/budgets'({ store, clock, budgets, fleet }, asked) {
    const all = budgets();
    if (all === undefined) throw away('the budgets of ApiKeys have not been read yet; try again');
    const nowMs = clock.wallMs();
    const now = fleet?.();
    const { usedShare, where, spender } = asked;
    const rows = budgetRows(all, where, spender);
    if (usedShare !== undefined) {
      const { page, ...more } = pageOf(usedUpTo(await readSpent(store, rows, nowMs), usedShare), asked);
      const shown = await withFirstDays(store, page);
      return { budgets: shown.map((row) => budgetAnswer(row, nowMs, now)), ...more };
    }
    const { page, ...more } = pageOf(rows, asked);
    const spent = await withFirstDays(store, await readSpent(store, page, nowMs));
    return { budgets: spent.map((row) => budgetAnswer(row, nowMs, now)), ...more };
  },
  async '/v1/health'({ store }, asked) {
    // Which vendors are behind a route is the platform's own business.
    const { namespace, route } = asked.where;
    const by = namespace === undefined ? (['provider', 'upstreamModel'] as const) : (['route'] as const);
    const [rows, failures, firstContents, further] = await Promise.all([
      store.outcomes(sumsQueryOf(asked, by)),
      store.lastFailures(by, asked),
      firstContentsBy(store, by, asked),
      route === undefined ? [] : store.furtherAnswers(asked),
    ]);
    const isOwn = namespace === undefined || route?.startsWith(`${namespace}/`) === true;
    return {
      ...periodOf(asked),
      ...healthAnswer(rows, by, failures, firstContents, asked),
      ...lastFailoverAnswer(further, isOwn),
    };
  },
};

const usesColumns = ['apiKey', 'requests', 'inputTokens', 'outputTokens', 'usd'];

/** Spenders of the asked days, with their spend in the present periods. */
async function spendersIn({ store, clock }: ReadApiParts, asked: Asked, spender: Spender) {
  const nowMs = clock.wallMs();
  const { by: _, ...query } = sumsQueryOf(asked, []);
  // Spend is also kept by day; for hours only records have the keys.
  const used = await store.used({ ...query, ...daysAround(asked), spender });
  const names = used.slice(0, asked.limit);
  const since = periodsOf(nowMs);
  const spends: ({ readonly name: string } & ReturnType<typeof spendAnswer>)[] = [];
  for (let at = 0; at < names.length; at += namesAtOnce) {
    const some = names.slice(at, at + namesAtOnce);
    const byName = new Map(
      (await store.spendOf(spender, some, nowMs)).map((spend) => [spend.name, spend] as const),
    );
    for (const name of some) {
      const spend = byName.get(name);
      if (spend !== undefined) spends.push({ name, ...spendAnswer(spend, since) });
    }
  }
  return { spends, ...moreAnswer(used.length, asked) };
}

async function firstContentsBy(store: LedgerStore, by: readonly FilterName[], asked: Asked) {
  const { fromMs, toMs } = boundsOf(asked);
  return toMs - fromMs <= firstContentsMsMax ? await store.firstContentsBy(by, asked) : [];
}

const periodOf = ({ from, to }: Asked) => ({ from, to });

/** @param patienceMs In which a request is to have come, its body too. */
export function buildReadApi(parts: ReadApiParts, patienceMs?: number): Server {
  return serveReadApi(answerReadApi(parts), patienceMs);
}

export function serveReadApi(listener: RequestListener, patienceMs = readApiPatienceMs): Server {
  return createServer(serverPatience(patienceMs), listener);
}

export const readApiPatienceMs = 10_000;

/** For servers of plain HTTP and of TLS, which answer the same. */
export function answerReadApi(parts: ReadApiParts): RequestListener {
  const places = openPlaces();
  const pace = openCheckPace(parts.clock);
  return (request, response) => {
    handle(parts, places, pace, request).then(
      (body) => answerJson(response, 200, body),
      (error: unknown) => {
        if (error instanceof ApiError) {
          answerError(response, error);
          return;
        }
        parts.onFailure(error);
        answerError(response, away('the ledger cannot answer right now; try again'));
      },
    );
  };
}

interface Places {
  /** @throws {ApiError} where all are taken. */
  hold<T>(work: () => Promise<T>): Promise<T>;
}

function openPlaces(): Places {
  let held = 0;
  return {
    async hold(work) {
      if (held >= questionsMax) throw tooBusy('the ledger is busy; try again');
      held += 1;
      try {
        return await work();
      } finally {
        held -= 1;
      }
    },
  };
}

async function handle(
  parts: ReadApiParts,
  places: Places,
  pace: CheckPace,
  request: IncomingMessage,
): Promise<unknown> {
  const url = URL.parse(request.url ?? '/', 'http://ledger');
  const { pathname = '', searchParams = new URLSearchParams() } = url ?? {};
  if (pathname === SPEND_PATH) {
    expectMethod(request, 'GET');
    expectToken(parts, bearerOf(request));
    return await spendSince(parts, searchParams, request.headers[SPEND_DAY_HEADER]);
  }
  const answer = Object.hasOwn(answers, pathname) ? answers[pathname] : undefined;
  if (isRelayed(pathname)) {
    expectMethod(request, 'POST');
    return await relay(parts, places, pathname, request);
  }
  if (pathname === CONNECTION_CHECK_PATH) {
    expectMethod(request, 'POST');
    return await checkConnection(parts, places, pace, request);
  }
  if (pathname === LOG_PATH) {
    expectMethod(request, 'GET');
    return await answerLog(parts, places, personsToken(request, parts), searchParams);
  }
  if (answer === undefined)
    throw notFound(
      `only ${[...Object.keys(answers), LOG_PATH, ...RELAYED_PATHS, CONNECTION_CHECK_PATH].join(', ')} are here`,
    );
  expectMethod(request, 'GET');
  const token = personsToken(request, parts);
  const nowMs = parts.clock.wallMs();
  const asked =
    pathname === '/v1/refusals'
      ? readRefusalParameters(searchParams, nowMs)
      : readParameters(searchParams, nowMs);
  const ofOthers = Object.entries(ofOne).flatMap(([path, names]) => (path === pathname ? [] : names));
  const without = [...(withoutParameters[pathname] ?? []), ...ofOthers];
  const unknown = without.find((name) => searchParams.has(name));
  if (unknown !== undefined) throw badParameter(`${unknown}: is no parameter of ${pathname}`);
  return await places.hold(async () => {
    await expectAccess(parts, token, asked);
    return await answer(parts, asked);
  });
}

function expectMethod({ method }: IncomingMessage, allowed: 'GET' | 'POST'): void {
  if (method !== allowed && !(allowed === 'GET' && method === 'HEAD')) throw badMethod(allowed);
}

function personsToken(request: IncomingMessage, { access }: ReadApiParts): string {
  const token = bearerOf(request);
  if (token !== '') return token;
  throw noToken(
    access?.remedy ??
      'send a token of Kubernetes as Authorization: Bearer …, such as that of kubectl create token',
  );
}

async function answerLog(parts: ReadApiParts, places: Places, token: string, search: URLSearchParams) {
  const question = readLogQuestion(search, parts.clock.wallMs());
  const { where } = question.asked;
  return await places.hold(async () => {
    const seesProviders = await hasAccessTo(parts, token, undefined);
    if (!seesProviders) {
      await expectAccessTo(parts, token, where.namespace);
      expectNoProvider(where);
    }
    return await requestLogAnswer(parts.store, question, seesProviders);
  });
}

/** A body is read without holding a place: a client that never sends its body would keep the place from others. */
async function relay(
  parts: ReadApiParts,
  places: Places,
  pathname: Parameters<typeof readQuestion>[0],
  request: IncomingMessage,
): Promise<unknown> {
  const token = personsToken(request, parts);
  const seesProviders = await places.hold(() => hasAccessTo(parts, token, undefined));
  const question = readQuestion(pathname, await readBody(request));
  return await places.hold(async () => {
    await expectAccessTo(parts, token, question.asked.namespace);
    return await relayQuestion(parts.gateways, question, seesProviders);
  });
}

/** Takes as long as the provider does, and so must not hold a place of other questions. */
async function checkConnection(
  parts: ReadApiParts,
  places: Places,
  pace: CheckPace,
  request: IncomingMessage,
): Promise<unknown> {
  const token = personsToken(request, parts);
  const question = readCheckQuestion(await readBody(request));
  await places.hold(() => expectMayCheck(parts.access, token, question.namespace));
  return await pace.hold(question.namespace, () => relayCheck(parts.gateways, question));
}

/** @throws {ApiError} where it is too large, or does not come. */
async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of request.iterator({ destroyOnReturn: false })) {
      if (!Buffer.isBuffer(chunk)) continue;
      bytes += chunk.length;
      if (bytes > PLAN_BODY_BYTES_MAX)
        throw tooLarge(
          `body: is larger than ${PLAN_BODY_BYTES_MAX} bytes; send a shorter body of the same kind`,
        );
      chunks.push(chunk);
    }
  } catch (error) {
    // The client has gone or was too slow: not a failure of the ledger.
    throw error instanceof ApiError ? error : badParameter('body: broke off before its end');
  }
  return Buffer.concat(chunks).toString('utf8');
}

async function expectAccess(parts: ReadApiParts, token: string, { where, by }: Asked): Promise<void> {
  await expectAccessTo(parts, token, where.namespace);
  // If gateways are set not to name providers to callers, the ledger does not name them either.
  if (where.namespace !== undefined) expectNoProvider(where, by);
}

function expectNoProvider(where: Asked['where'], by: Asked['by'] = []): void {
  const hidden = (['provider', 'upstreamModel'] as const).find(
    (dimension) => by.includes(dimension) || where[dimension] !== undefined,
  );
  if (hidden !== undefined)
    throw notAllowed(`${hidden}: is the platform's own business; ask without ?namespace=…, where you may`);
}

/** @param namespace Undefined: all of them. */
async function expectAccessTo(
  parts: ReadApiParts,
  token: string,
  namespace: string | undefined,
): Promise<void> {
  if (await hasAccessTo(parts, token, namespace)) return;
  throw notAllowed(
    namespace === undefined
      ? 'the whole ledger needs the right to get apikeys.penstock.dev in all namespaces; choose one with ?namespace=…'
      : `you may not get apikeys.penstock.dev in the namespace ${namespace}`,
  );
}

/** @throws {ApiError} if the token is unknown. */
async function hasAccessTo(
  { access }: ReadApiParts,
  token: string,
  namespace: string | undefined,
): Promise<boolean> {
  if (access === undefined) throw notAllowed('this ledger answers only the operator');
  const verdict = await access.judge(token, namespace);
  if (verdict === 'unknown') throw unknownToken(access);
  return verdict === 'allowed';
}

function bearerOf({ headers }: IncomingMessage): string {
  return /^Bearer +(\S+)$/i.exec(headers.authorization ?? '')?.[1] ?? '';
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
  day: z.iso.date().optional(),
});

async function spendSince(
  { store, clock }: ReadApiParts,
  search: URLSearchParams,
  day: string | string[] | undefined,
): Promise<SpendReport> {
  const parsed = spendParameters.safeParse({ day, ...Object.fromEntries(search) });
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw badParameter(`${issue?.path.join('.')}: ${issue?.message}`);
  }
  return await readSpendPage(store.spend, clock.wallMs(), parsed.data);
}

function answerError(response: ServerResponse, { status, message, type, code, allow }: ApiError): void {
  if (status === 401) response.setHeader('www-authenticate', 'Bearer');
  if (status === 405) response.setHeader('allow', allow);
  // The rest of a refused body is not read.
  if (!response.req.complete) response.setHeader('connection', 'close');
  if (status === 503) response.setHeader('retry-after', '1');
  answerJson(response, status, { error: { message, type, code } });
}

function answerJson(response: ServerResponse, status: number, body: unknown): void {
  if (response.headersSent || response.destroyed) return;
  const text = `${body instanceof JsonText ? body.text : JSON.stringify(body)}\n`;
  response.writeHead(status, {
    'content-type': 'application/json',
    'cache-control': 'no-store',
    'content-length': Buffer.byteLength(text),
  });
  response.end(text);
}
