// A dashboard that listens, over a real API server, and people with browsers who come to it.

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../../core/clock.ts';
import { createLog } from '../../core/kube/log.ts';
import type { SessionAnswer } from '../../dashboard/api-types.ts';
import type { ServerParts } from '../../dashboard/door.ts';
import { clusterFor, openKubernetes } from '../../dashboard/kubernetes/cluster.ts';
import { kubernetesSignIn } from '../../dashboard/kubernetes/sign-in.ts';
import type { DashboardSettings } from '../../dashboard/settings.ts';
import { startDashboard } from '../../dashboard/start.ts';
import type { ControlPlane } from '../cluster/control-plane.ts';
import { serviceAccountToken } from '../cluster/identities.ts';
import { apply } from '../cluster/objects.ts';
import { openRaw, type RawAnswer, rawCall, writeRequest } from '../support/raw-client.ts';

export interface House {
  readonly port: number;
  readonly url: string;
  /** Everything that was logged. */
  log(): string;
  close(): Promise<void>;
}

export const OUTSIDE = 'https://penstock.example.com';

/** @param plane what it talks to; another address of an API server where the plane is given with another url. */
export async function openHouse(
  plane: Pick<ControlPlane, 'url' | 'caFile'>,
  more: Partial<Omit<ServerParts, 'settings'>> & {
    readonly settings?: Partial<DashboardSettings>;
  } = {},
): Promise<House> {
  const lines: string[] = [];
  const clock = more.clock ?? systemClock;
  const connection = openKubernetes({ url: plane.url, caFile: plane.caFile, clock: systemClock });
  const pagesFolder = await mkdtemp(join(tmpdir(), 'penstock-pages-'));
  await writeFile(join(pagesFolder, 'index.html'), '<!doctype html><title>Penstock</title>');
  const dashboard = await startDashboard({
    signIn: kubernetesSignIn(connection, undefined),
    clusterOf: ({ token }) => clusterFor(connection, token, clock),
    ledger: undefined,
    pagesFolder,
    clock,
    log: createLog((line) => lines.push(line), clock.wallMs),
    version: '0.0.0',
    ...more,
    settings: {
      host: '127.0.0.1',
      port: 0,
      places: [{ origin: OUTSIDE, host: new URL(OUTSIDE).host, isSecure: true }],
      proxies: [],
      gatewayUrl: 'https://gateway.example.com',
      sessionKeys: [],
      sessionMs: 3_600_000,
      ...more.settings,
    },
  });
  return {
    port: Number(new URL(dashboard.url).port),
    url: dashboard.url,
    log: () => lines.join(''),
    async close() {
      await dashboard.close();
      connection.close();
      await rm(pagesFolder, { recursive: true, force: true });
    },
  };
}

export interface Answer {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: a test says by itself what it expects of a body
  readonly body: any;
  readonly text: string;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly cookies: readonly string[];
}

export interface Asking {
  readonly method?: string;
  readonly body?: unknown;
  /** Undefined takes away what a browser would send. */
  readonly headers?: Readonly<Record<string, string | undefined>>;
}

/** Keeps cookies and sends what browsers send by themselves. */
export interface Browser {
  cookies: Map<string, string>;
  session: SessionAnswer | undefined;
  ask(path: string, asking?: Asking): Promise<Answer>;
  signIn(token: string): Promise<Answer>;
  /** The head has come; its events are to be read. */
  stream(path: string): Promise<RawAnswer & { close(): void; pause(): void; resume(): void }>;
}

export function openBrowser(house: Pick<House, 'port'>, origin = OUTSIDE): Browser {
  const { host } = new URL(origin);
  const headersFor = (asking: Asking) => {
    const isReading = (asking.method ?? 'GET') === 'GET';
    const sent: Record<string, string | undefined> = {
      host,
      'sec-fetch-site': 'same-origin',
      cookie: [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ') || undefined,
      ...(isReading
        ? {}
        : {
            origin,
            'content-type': 'application/json',
            'x-penstock-csrf': browser.session?.csrf,
          }),
      ...asking.headers,
    };
    return Object.fromEntries(
      Object.entries(sent).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
    ) as Record<string, string>;
  };
  const browser: Browser = {
    cookies: new Map(),
    session: undefined,
    async ask(path, asking = {}) {
      const { status, json, text, headers, rawHeaders } = await rawCall(
        { port: house.port },
        {
          path,
          method: asking.method ?? 'GET',
          headers: headersFor(asking),
          ...(asking.body === undefined ? {} : { body: asking.body as object }),
        },
      );
      const cookies = rawHeaders.flatMap(([name, value]) =>
        name.toLowerCase() === 'set-cookie' ? [value] : [],
      );
      for (const cookie of cookies) keep(browser.cookies, cookie);
      return { status, body: json, text, headers, cookies };
    },
    async signIn(token) {
      const answer = await browser.ask('/api/session', { method: 'POST', body: { token } });
      if (answer.status === 200) browser.session = answer.body;
      return answer;
    },
    async stream(path) {
      const connection = await openRaw({ port: house.port });
      await connection.send(writeRequest({ path, headers: headersFor({}) }));
      const answer = await connection.answer();
      const { close, pause, resume } = connection;
      return { ...answer, close, pause, resume };
    },
  };
  return browser;
}

function keep(cookies: Map<string, string>, text: string): void {
  const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(text) ?? [];
  if (value === '') cookies.delete(name);
  else cookies.set(name, value);
}

/** What is set, without what is taken away. */
export const onlySet = (cookies: readonly string[]) => cookies.filter((text) => !/^[^=]+=;/.test(text));

const clusterRole = (name: string, verbs: readonly string[]) => ({
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'ClusterRole',
  metadata: { name },
  rules: [
    {
      apiGroups: ['penstock.dev'],
      resources: ['apikeys', 'providers', 'modelroutes'],
      verbs,
    },
    ...(verbs.includes('create') ? [{ apiGroups: [''], resources: ['secrets'], verbs: ['create'] }] : []),
  ],
});

export type People = Awaited<ReturnType<typeof makePeople>>;

/** Tokens of people: who may change everything of team-a, who may look at ApiKeys everywhere, who may list namespaces, and nobody much. */
export async function makePeople(plane: ControlPlane) {
  const names = ['editor', 'viewer', 'nobody'];
  const bind = (kind: string, name: string, role: string, namespace?: string) => ({
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind,
    metadata: { name: `${name}-${role}`, ...(namespace === undefined ? {} : { namespace }) },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role },
    subjects: [{ kind: 'ServiceAccount', name, namespace: 'team-a' }],
  });
  for (const object of [
    ...['team-a', 'team-b'].map((name) => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } })),
    ...names.map((name) => ({
      apiVersion: 'v1',
      kind: 'ServiceAccount',
      metadata: { name, namespace: 'team-a' },
    })),
    clusterRole('changing', ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete']),
    {
      ...clusterRole('looking', []),
      rules: [
        { apiGroups: ['penstock.dev'], resources: ['apikeys'], verbs: ['get', 'list', 'watch'] },
        { apiGroups: [''], resources: ['namespaces'], verbs: ['list'] },
      ],
    },
    bind('RoleBinding', 'editor', 'changing', 'team-a'),
    bind('ClusterRoleBinding', 'viewer', 'looking'),
  ])
    await apply(plane.client, object);
  // Longer than a session, so that it is the session that ends.
  const token = (name: string) => serviceAccountToken(plane, 'team-a', name, 7_200);
  return { editor: await token('editor'), viewer: await token('viewer'), nobody: await token('nobody') };
}
