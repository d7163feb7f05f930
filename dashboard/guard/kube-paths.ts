// What of the Kubernetes API can be reached through the dashboard at all, whatever the person may? A strict list: our three kinds, and
// making a Secret. No path that reads a Secret exists.

import type { Kind, RightName, Verb } from '../api-types.ts';
import type { ClusterCall } from '../cluster.ts';

export const GROUP_VERSION = '/apis/penstock.dev/v1alpha1';
export const KINDS: readonly Kind[] = ['apikeys', 'providers', 'modelroutes'];
const VERBS: readonly Verb[] = ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete'];

export const RIGHTS: readonly RightName[] = [
  ...KINDS.flatMap((kind) => VERBS.map((verb): RightName => `${verb} ${kind}`)),
  'create secrets',
];

/** As in kubectl: `create apikeys.penstock.dev in namespace team-a`. */
export function rightInWords(right: RightName, namespace: string | null): string {
  const { verb, group, resource } = partsOfRight(right);
  const place = namespace === null ? 'in all namespaces' : `in namespace ${namespace}`;
  return `${verb} ${group === '' ? resource : `${resource}.${group}`} ${place}`;
}

export function partsOfRight(right: RightName): {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
} {
  const [verb = '', resource = ''] = right.split(' ');
  return { verb, group: resource === 'secrets' ? '' : 'penstock.dev', resource };
}

interface Asked {
  readonly method: string;
  /** Below `/api/kube`, as it stood in the address. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly body: unknown;
}

type Judged =
  | { readonly isAllowed: true; readonly call: ClusterCall; readonly right: RightName }
  /** `unknown`: no such path. `method`: not so. `query`, `body`: not with that. */
  | { readonly isAllowed: false; readonly why: 'unknown' | 'method' | 'query' | 'body' };

/** A longer list comes in pages, each with `metadata.continue`. */
export const PAGE_MAX = 500;

/** A namespace is a DNS label, a name a DNS subdomain: no character that has a meaning in a path, encoded or not. */
const namePattern = /^[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?$/;
const kindPath =
  /^\/apis\/penstock\.dev\/v1alpha1(?:\/namespaces\/([^/]+))?\/(apikeys|providers|modelroutes)(?:\/([^/]+))?$/;
const secretsPath = /^\/api\/v1\/namespaces\/([^/]+)\/secrets$/;
const namespacePattern = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

export function isNamespace(text: string): boolean {
  return namespacePattern.test(text);
}

/** Pure: the address is rebuilt from its parts, so nothing else of it gets through. */
export function judgeKubeCall(asked: Asked): Judged {
  return judgeSecret(asked) ?? judgeKind(asked) ?? refuse('unknown');
}

function judgeSecret({ method, path, query, body }: Asked): Judged | undefined {
  const [, namespace] = secretsPath.exec(path) ?? [];
  if (namespace === undefined || !isNamespace(namespace)) return undefined;
  if (method !== 'POST') return refuse('method'); // guard: dashboard-secret-read
  const passed = passQuery(query, ['dryRun']);
  if (passed === undefined) return refuse('query');
  if (!isOfKind(body, 'v1', 'Secret')) return refuse('body');
  return {
    isAllowed: true,
    right: 'create secrets',
    call: { method, path: `/api/v1/namespaces/${namespace}/secrets`, query: passed, body },
  };
}

function judgeKind({ method, path, query, body }: Asked): Judged | undefined {
  const [, namespace, kind, name] = kindPath.exec(path) ?? [];
  if (kind === undefined || !isKind(kind)) return undefined;
  if (namespace !== undefined && !isNamespace(namespace)) return undefined;
  if (name !== undefined && (namespace === undefined || !namePattern.test(name))) return undefined;
  const way = ways.find((one) => one.method === method && one.ofOne === (name !== undefined));
  // Whatever is written is written in a namespace.
  if (way === undefined || (method !== 'GET' && namespace === undefined)) return refuse('method');
  const passed = passQuery(query, way.query);
  if (passed === undefined) return refuse('query');
  if (way.hasBody && (typeof body !== 'object' || body === null || Array.isArray(body)))
    return refuse('body');
  const place = namespace === undefined ? '' : `/namespaces/${namespace}`;
  return {
    isAllowed: true,
    right: `${way.verb} ${kind}`,
    call: {
      method: way.method,
      path: `${GROUP_VERSION}${place}/${kind}${name === undefined ? '' : `/${name}`}`,
      query: way.verb === 'list' ? { ...passed, limit: pageOf(passed.limit) } : passed,
      ...(way.hasBody ? { body } : {}),
      ...(way.method === 'PATCH' ? { contentType: 'application/merge-patch+json' } : {}),
    },
  };
}

interface Way {
  readonly method: ClusterCall['method'];
  readonly ofOne: boolean;
  readonly verb: Verb;
  readonly query: readonly string[];
  readonly hasBody: boolean;
}

const ways: readonly Way[] = [
  { method: 'GET', ofOne: true, verb: 'get', query: [], hasBody: false },
  {
    method: 'GET',
    ofOne: false,
    verb: 'list',
    query: ['limit', 'continue', 'labelSelector'],
    hasBody: false,
  },
  { method: 'POST', ofOne: false, verb: 'create', query: ['dryRun'], hasBody: true },
  { method: 'PUT', ofOne: true, verb: 'update', query: ['dryRun'], hasBody: true },
  { method: 'PATCH', ofOne: true, verb: 'patch', query: ['dryRun'], hasBody: true },
  { method: 'DELETE', ofOne: true, verb: 'delete', query: ['dryRun'], hasBody: false },
];

const queryPatterns: Readonly<Record<string, RegExp>> = {
  dryRun: /^All$/,
  limit: /^[1-9]\d{0,4}$/,
  continue: /^[\x21-\x7e]{1,4096}$/,
  labelSelector: /^[\x20-\x7e]{1,1024}$/,
};

/** Undefined where something else is asked, or the same thing twice. */
function passQuery(query: URLSearchParams, allowed: readonly string[]): Record<string, string> | undefined {
  const passed: Record<string, string> = {};
  for (const [name, value] of query) {
    const isFine = allowed.includes(name) && queryPatterns[name]?.test(value) && !Object.hasOwn(passed, name);
    if (!isFine) return undefined;
    passed[name] = value;
  }
  return passed;
}

function pageOf(limit: string | undefined): string {
  return String(Math.min(PAGE_MAX, Number(limit ?? PAGE_MAX)));
}

function isOfKind(body: unknown, apiVersion: string, kind: string): boolean {
  return (
    typeof body === 'object' &&
    body !== null &&
    'apiVersion' in body &&
    body.apiVersion === apiVersion &&
    'kind' in body &&
    body.kind === kind
  );
}

function isKind(text: string): text is Kind {
  return KINDS.some((kind) => kind === text);
}

const refuse = (why: Extract<Judged, { isAllowed: false }>['why']): Judged => ({ isAllowed: false, why });
