// A server for looking at the pages: it answers what the dashboard's own does, out of memory, with the same content security policy. What
// it answers is no proof of anything.
//
//   node test/dashboard/rig/server.ts [port]          after `npm run build`

import { createReadStream, existsSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { KeyRow, KeyState } from '../../../dashboard/api-types.ts';
import { mergePatch } from '../../../dashboard/pages/words/merge-patch.ts';
import { ago, catalog, makeKeys, nowMs, owners, plan, providers, routes } from './fixtures.ts';
import { answerLedger } from './ledger.ts';

export interface RigOptions {
  readonly pages: string;
  readonly port: number;
  readonly keys: number;
  /** What this person may not do, such as `create apikeys` or `list namespaces`. */
  readonly without: readonly string[];
  /** Nobody is signed in at first. */
  readonly isSignedOut: boolean;
  /** Names of what fails, such as `ledger` or `rows`. */
  readonly failing: readonly string[];
  /** Names of what is never answered. */
  readonly hanging?: readonly string[];
  readonly hasNothing: boolean;
  /** Default: true. Without one nobody knows what keys were used for. */
  readonly hasLedger?: boolean;
  /** Default: 'kubernetes'. */
  readonly mode?: 'kubernetes' | 'local';
  /** Why no change is taken; may be changed at the same time. */
  readonly heldBack?: string[];
  /** Default: this server, which answers as a gateway does. */
  readonly gatewayUrl?: string;
}

type Item = { metadata: Record<string, unknown> } & Record<string, unknown>;
const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

export interface Rig {
  readonly url: string;
  /** Those that are open now. */
  streamCount(): number;
  /** Changes an object behind the back of the pages, and tells those who watch. */
  change(kind: string, name: string, spec: object): void;
  close(): Promise<void>;
}

export async function startRig(options: RigOptions): Promise<Rig> {
  const { hasLedger = true } = options;
  const startedMs = Date.now();
  const objects: Record<string, Item[]> = options.hasNothing
    ? { apikeys: [], providers: [], modelroutes: [] }
    : {
        apikeys: (makeKeys(options.keys) as Item[]).map((key) => (hasLedger ? key : withoutUsage(key))),
        providers: structuredClone(providers) as Item[],
        modelroutes: structuredClone(routes) as Item[],
      };
  const watchers = new Set<{ kind: string; response: ServerResponse }>();
  let isSignedIn = !options.isSignedOut;
  let user = 'ada';
  let csrf = 'csrf';
  let version = 50_000;
  let origin = '';

  const server = createServer((request, response) => {
    handle(request, response).catch((error: unknown) =>
      answer(response, 500, { error: { message: String(error), code: 'internal' } }),
    );
  });
  await new Promise<void>((resolve) => server.listen(options.port, '127.0.0.1', resolve));
  const address = server.address();
  origin = `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : options.port}`;
  return {
    url: origin,
    streamCount: () => watchers.size,
    change(kind, name, spec) {
      const found = objects[kind]?.find(({ metadata }) => metadata.name === name);
      if (found === undefined) throw new Error(`there is no ${kind} ${name}`);
      found.spec = { ...(found.spec as object), ...spec };
      bump(found);
      tell(kind, 'MODIFIED', found);
    },
    close: () =>
      new Promise((resolve) => {
        for (const { response } of watchers) response.destroy();
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', origin);
    const body = await readJson(request);
    const method = request.method ?? 'GET';
    if (url.pathname === '/v1/chat/completions') {
      await streamWords(response);
      return;
    }
    if (url.pathname === '/v1/models') {
      answer(response, 200, { data: catalog.models.map(({ id }) => ({ id })) });
      return;
    }
    if (!url.pathname.startsWith('/api/')) {
      sendPage(response, url.pathname);
      return;
    }
    const path = url.pathname.slice('/api/'.length);
    if (options.hanging?.some((name) => path.startsWith(name))) return;
    if (options.failing.some((name) => path.startsWith(name))) {
      answer(response, 503, {
        error: { message: 'The ledger does not answer; ask again in a moment.', code: 'ledger_unreachable' },
      });
      return;
    }
    if (path === 'session') {
      if (method === 'POST' && String((body as { token?: string }).token).length < 5) {
        answer(response, 401, {
          error: {
            message: 'Kubernetes does not know this token, or it has expired. Create a new one.',
            code: 'unknown_token',
          },
        });
        return;
      }
      if (method === 'POST') {
        isSignedIn = true;
        begin((body as { token: string }).token);
      }
      if (method === 'DELETE') {
        if (!isOwnHeader(request, response)) return;
        isSignedIn = false;
        endStreams();
        response.writeHead(204).end();
        return;
      }
      answer(response, isSignedIn ? 200 : 401, isSignedIn ? session() : signedOutOf(options.mode));
      return;
    }
    if (!isSignedIn) {
      answer(response, 401, { error: { message: 'Sign in first.', code: 'not_signed_in' } });
      return;
    }
    if (!isOwnHeader(request, response)) return;
    if (path === 'namespaces') {
      const isComplete = !options.without.includes('list namespaces');
      const all = ['platform', 'research', 'team-a', 'team-b'];
      answer(response, 200, { namespaces: isComplete ? all : [], isComplete });
      return;
    }
    if (path === 'rights') {
      const namespace = (body as { namespace: string | null }).namespace;
      answer(response, 200, { rights: rightsIn(namespace) });
      return;
    }
    if (path === 'rows/apikeys') {
      answer(response, 200, rowsOf(url.searchParams));
      return;
    }
    if (path === 'watch') {
      const kind = url.searchParams.get('kind') ?? '';
      response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
      response.write(`event: reset\ndata: {"resourceVersion":"${version}"}\n\n`);
      const watcher = { kind, response };
      watchers.add(watcher);
      response.on('close', () => watchers.delete(watcher));
      return;
    }
    if (path === 'owners') {
      answer(response, 200, options.hasNothing ? { owners: [], teams: [] } : owners);
      return;
    }
    if (path === 'ledger/v1/catalog') {
      answer(response, 200, options.hasNothing ? { ...catalog, models: [] } : catalog);
      return;
    }
    if (path === 'ledger/v1/plan') {
      answer(response, 200, { ...plan, ...(body as object), ...{ targets: plan.targets } });
      return;
    }
    if (path === 'ledger/v1/connection-check') {
      const models = ['gpt-6.2', 'gpt-6.2-mini', 'llama-4'];
      answer(response, 200, {
        ...{ outcome: 'works', status: 200, latencyMs: 41, models },
        message: 'Reachable in 41 ms: model list read, 3 models. No model was called.',
      });
      return;
    }
    if (path.startsWith('ledger/v1/')) {
      answer(
        response,
        200,
        answerLedger(path.slice('ledger/v1/'.length), url.searchParams, nowMs, options.hasNothing),
      );
      return;
    }
    if (path.startsWith('kube/')) {
      kube(method, path, url.searchParams, body as Item | undefined, response);
      return;
    }
    answer(response, 404, { error: { message: `There is no ${path}.`, code: 'not_found' } });
  }

  /** A session of its own, and the one before is over: of Bob with a token that begins so, else of Ada. */
  function begin(token: string): void {
    user = token.startsWith('bob') ? 'bob' : 'ada';
    version += 1;
    csrf = `csrf-${version}`;
    endStreams();
  }

  function endStreams(): void {
    for (const { response } of watchers) response.end('event: end\ndata: {"reason":"session"}\n\n');
  }

  /** False: it was answered that the header is of another session. */
  function isOwnHeader({ headers }: IncomingMessage, response: ServerResponse): boolean {
    const { 'x-penstock-csrf': sent = csrf } = headers;
    if (sent !== csrf)
      answer(response, 403, {
        error: {
          message: 'The header x-penstock-csrf is missing or belongs to another session. Reload the page.',
          code: 'csrf_missing',
        },
      });
    return sent === csrf;
  }

  function session() {
    return {
      mode: options.mode ?? 'kubernetes',
      user: { name: `system:serviceaccount:team-a:${user}`, groups: ['system:authenticated'] },
      expiresAt: new Date(startedMs + 3_600_000).toISOString(),
      csrf,
      namespace: null,
      gatewayUrl: options.gatewayUrl ?? origin,
      keyPrefix: 'psk_',
      hasLedger,
      version: '0.1.0',
      ...(options.heldBack?.length ? { heldBack: options.heldBack } : {}),
    };
  }

  function rightsIn(namespace: string | null) {
    const where = namespace === null ? 'in all namespaces' : `in namespace ${namespace}`;
    const verbs = ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete'];
    const names = [
      ...['apikeys', 'providers', 'modelroutes'].flatMap((kind) => verbs.map((verb) => `${verb} ${kind}`)),
      'create secrets',
    ];
    return Object.fromEntries(
      names.map((name) => {
        const isMissing = options.without.includes(name);
        const [verb, kind] = name.split(' ');
        return [
          name,
          {
            allowed: !isMissing,
            missing: isMissing
              ? `${verb} ${kind}${kind === 'secrets' ? '' : '.penstock.dev'} ${where}`
              : null,
          },
        ];
      }),
    );
  }

  function rowsOf(search: URLSearchParams) {
    const namespace = search.get('namespace');
    const q = (search.get('q') ?? '').toLowerCase();
    const state = search.get('state');
    const sort = search.get('sort') ?? 'name';
    const sign = search.get('order') === 'desc' ? -1 : 1;
    const rows = (objects.apikeys ?? [])
      .map(rowOf)
      .filter((row) => namespace === null || row.namespace === namespace)
      .filter(
        (row) =>
          q === '' ||
          `${row.name} ${row.displayName} ${row.owner} ${row.team} ${row.hint}`.toLowerCase().includes(q),
      )
      .filter((row) => !state || row.state === state);
    const by = (row: KeyRow): string | number =>
      sort === 'spend'
        ? Number(row.spend?.month ?? 0)
        : ({ owner: row.owner, lastUsed: row.lastUsedAt ?? '', expires: row.expiresAt ?? '' }[sort] ??
          row.name);
    rows.sort((a, b) => (by(a) < by(b) ? -sign : by(a) > by(b) ? sign : 0));
    const offset = Number(search.get('offset') ?? 0);
    return {
      rows: rows.slice(offset, offset + Number(search.get('limit') ?? 50)),
      total: rows.length,
      at: ago(0),
      resourceVersion: version,
      spendFrom: hasLedger ? 'ledger' : 'status',
      isTruncated: false,
    };
  }

  function kube(
    method: string,
    path: string,
    search: URLSearchParams,
    body: Item | undefined,
    response: ServerResponse,
  ): void {
    const [, namespace, kind = '', name] =
      /(?:namespaces\/([^/]+)\/)?(apikeys|providers|modelroutes|secrets)(?:\/(.+))?$/.exec(path) ?? [];
    const list = objects[kind] ?? [];
    const at = list.findIndex(({ metadata }) => metadata.namespace === namespace && metadata.name === name);
    const found = list[at];
    if (method === 'POST' && body !== undefined) {
      if (
        list.some(({ metadata }) => metadata.name === body.metadata.name && metadata.namespace === namespace)
      ) {
        answer(
          response,
          409,
          status(409, 'AlreadyExists', `${kind}.penstock.dev "${body.metadata.name}" already exists`),
        );
        return;
      }
      if (search.get('dryRun') !== 'All' && kind !== 'secrets') add(kind, body);
      answer(response, 201, body);
      return;
    }
    if (name === undefined) {
      answer(response, 200, {
        items: list.filter(({ metadata }) => namespace === undefined || metadata.namespace === namespace),
        metadata: {},
      });
      return;
    }
    if (found === undefined) {
      answer(response, 404, status(404, 'NotFound', `${kind}.penstock.dev "${name}" not found`));
      return;
    }
    if (method === 'DELETE') list.splice(at, 1);
    if (method === 'PATCH' && body !== undefined) {
      found.spec = mergePatch(found.spec, body.spec);
      found.metadata.generation = Number(found.metadata.generation) + 1;
      bump(found);
      tell(kind, 'MODIFIED', found);
    }
    answer(response, 200, found);
  }

  function add(kind: string, body: Item): void {
    const made: Item = {
      ...structuredClone(body),
      metadata: { ...body.metadata, uid: `made-${version}`, generation: 1, creationTimestamp: ago(0) },
    };
    bump(made);
    objects[kind]?.push(made);
    tell(kind, 'ADDED', made);
    const { imports } = made.spec as { readonly imports?: readonly { readonly hint?: string }[] };
    setTimeout(() => {
      made.status = {
        observedGeneration: 1,
        keyHint: imports?.at(-1)?.hint ?? 'psk_…new1',
        programmed: { runningPods: 3, readyPods: 3, tableGeneration: 1_795_312_400_200, observedAt: ago(0) },
        conditions: ['Accepted', 'ResolvedRefs', 'Programmed', 'Ready'].map((type) => ({
          type,
          status: 'True',
          reason: type,
          message: '',
          observedGeneration: 1,
          lastTransitionTime: ago(0),
        })),
      };
      bump(made);
      tell(kind, 'MODIFIED', made);
    }, 800);
  }

  function bump(object: Item): void {
    version += 1;
    object.metadata.resourceVersion = String(version);
  }

  function tell(kind: string, type: string, object: Item): void {
    for (const watcher of watchers)
      if (watcher.kind === kind)
        watcher.response.write(`event: change\ndata: ${JSON.stringify({ type, object })}\n\n`);
  }

  function sendPage(response: ServerResponse, path: string): void {
    const file = join(options.pages, path);
    const isFile = path !== '/' && existsSync(file) && extname(path) in types;
    const shown = isFile ? file : join(options.pages, 'index.html');
    response.writeHead(200, {
      'content-encoding': 'gzip',
      'content-type': types[extname(shown)] ?? 'application/octet-stream',
      'content-security-policy': `default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self' ${options.gatewayUrl ?? origin}; base-uri 'none'; form-action 'self'; frame-ancestors 'none'`,
      'cache-control': 'no-store',
    });
    createReadStream(`${shown}.gz`).pipe(response);
  }
}

function withoutUsage(key: Item): Item {
  const { usage: _, ...rest } = (key.status ?? {}) as Record<string, unknown>;
  return { ...key, status: rest };
}

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
}

function rowOf(item: Item): KeyRow {
  const spec = item.spec as Record<string, never>;
  const status = (item.status ?? {}) as {
    keyHint?: string;
    conditions?: Condition[];
    usage?: { lastUsedAt: string; spend: string; periods: { period: string; spend: string }[] };
  };
  const is = (type: string) => status.conditions?.find((condition) => condition.type === type);
  const ready = is('Ready');
  const state: KeyState = is('Disabled')
    ? 'Disabled'
    : is('Expired')
      ? 'Expired'
      : ready === undefined
        ? 'Pending'
        : ready.status === 'True'
          ? is('BudgetExhausted') !== undefined
            ? 'BudgetUsedUp'
            : is('ExpiringSoon') !== undefined
              ? 'ExpiresSoon'
              : 'Ready'
          : 'Rejected';
  const spendOf = (period: string) =>
    status.usage?.periods.find((one) => one.period === period)?.spend ?? null;
  const asked = spec as unknown as {
    displayName?: string;
    owner?: { name?: string; team?: string };
    expiresAt?: string;
    limits?: Record<string, unknown>;
    imports?: { hint?: string }[];
    models?: { allow?: string[]; deny?: string[] };
    budgets?: { period: string; limit: string; action?: string }[];
  };
  return {
    namespace: String(item.metadata.namespace),
    name: String(item.metadata.name),
    uid: String(item.metadata.uid),
    displayName: asked.displayName ?? '',
    owner: asked.owner?.name ?? '',
    team: asked.owner?.team ?? '',
    hint: status.keyHint ?? asked.imports?.at(-1)?.hint ?? '',
    prefix: 'psk_',
    createdAt: String(item.metadata.creationTimestamp),
    expiresAt: asked.expiresAt ?? null,
    lastUsedAt: status.usage?.lastUsedAt ?? null,
    spend: status.usage === undefined ? null : { day: spendOf('Day'), month: spendOf('Month'), total: null },
    budgets: (asked.budgets ?? []).map(({ period, limit, action = 'Block' }) => ({
      period,
      limit,
      action,
      spend: spendOf(period),
    })),
    limits: asked.limits ?? null,
    models: { allow: asked.models?.allow ?? [], deny: asked.models?.deny ?? [] },
    state,
    reason: ready?.reason ?? '',
    message: ready?.message ?? '',
    isImported: (asked.imports ?? []).length > 0,
  };
}

const signedOutOf = (mode: RigOptions['mode']) => ({
  error: { message: 'Nobody is signed in.', code: 'not_signed_in' },
  signIn:
    mode === 'local'
      ? { mode, tokenCommand: '', oidc: null }
      : {
          mode: 'kubernetes',
          tokenCommand: 'kubectl create token dashboard-user -n team-a --duration=8h',
          oidc: { name: 'Example SSO' },
        },
});

const status = (code: number, reason: string, message: string) => ({
  kind: 'Status',
  apiVersion: 'v1',
  status: 'Failure',
  code,
  reason,
  message,
});

function answer(response: ServerResponse, code: number, body: unknown): void {
  response.writeHead(code, { 'content-type': 'application/json', 'cache-control': 'no-store' });
  response.end(JSON.stringify(body));
}

async function readJson(request: IncomingMessage): Promise<unknown> {
  const pieces: Buffer[] = [];
  for await (const piece of request) pieces.push(piece as Buffer);
  const text = Buffer.concat(pieces).toString();
  return text === '' ? undefined : JSON.parse(text);
}

async function streamWords(response: ServerResponse): Promise<void> {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'x-request-id': 'req_of_the_rig' });
  for (const word of ['Hello', ' from', ' the', ' other', ' end', ' of', ' the', ' pipe.'])
    response.write(`data: ${JSON.stringify({ choices: [{ delta: { content: word } }] })}\n\n`);
  response.write('data: {"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":8}}\n\n');
  response.end('data: [DONE]\n\n');
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { url } = await startRig({
    pages: fileURLToPath(new URL('../../../dist/dashboard', import.meta.url)),
    port: Number(process.argv[2] ?? 8123),
    keys: 10_000,
    without: [],
    isSignedOut: false,
    failing: [],
    hasNothing: false,
  });
  console.log(url);
}
