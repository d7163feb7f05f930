// What may accounts do, as `kubectl auth can-i --list` tells it? One text, held against a committed one.
//
// PENSTOCK_UPDATE_GOLDEN=1 writes it again; read the difference before you commit it: it is what an installation is trusted with.

import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect } from 'vitest';
import { z } from 'zod';
import type { ControlPlane } from './control-plane.ts';
import { type Asking, askAsAdmin } from './crd-cases/post.ts';

export interface Account {
  /** As `--as` takes it. */
  readonly user: string;
  /** Where it is asked for its rights. */
  readonly namespaces: readonly string[];
  /** Of rights that others gave it too, those that matter. Default: all. */
  readonly isMeant?: (line: string) => boolean;
}

/** Has no right but those of everybody, which are Kubernetes's own and differ by its version: they are left out. */
const stranger = 'system:serviceaccount:default:stranger';

/** A block per account and namespace; lines as kubectl prints them, sorted. */
async function describeRights(server: Asking, accounts: readonly Account[]): Promise<string> {
  const ofEverybody = new Set(await listed(server, stranger, 'default'));
  const blocks: string[] = [];
  for (const { user, namespaces, isMeant = () => true } of accounts) {
    for (const namespace of namespaces) {
      const lines = await listed(server, user, namespace);
      const own = lines.filter((line) => !ofEverybody.has(line) && isMeant(line)).sort();
      blocks.push([`# ${user} in ${namespace}`, ...(own.length > 0 ? own : ['nothing'])].join('\n'));
    }
  }
  return `${blocks.join('\n\n')}\n`;
}

/** @param name of the file among the fixtures, such as `cluster`. */
export async function expectRights(
  plane: ControlPlane,
  name: string,
  accounts: readonly Account[],
): Promise<void> {
  const file = fileURLToPath(new URL(`../fixtures/rights/${name}.txt`, import.meta.url));
  const server = await askAsAdmin(plane);
  try {
    const rights = await describeRights(server, accounts);
    if (process.env.PENSTOCK_UPDATE_GOLDEN === '1') writeFileSync(file, rights);
    expect(rights).toBe(readFileSync(file, 'utf8'));
    const [
      {
        user,
        namespaces: [namespace = ''],
      } = { user: '', namespaces: [] },
    ] = accounts;
    const lines = await listed(server, user, namespace);
    expect(lines.sort()).toEqual((await listedByKubectl(plane, user, namespace)).sort());
  } finally {
    server.close();
  }
}

const rulesSchema = z.object({
  resourceRules: z.array(
    z.object({
      verbs: z.array(z.string()),
      apiGroups: z.array(z.string()),
      resources: z.array(z.string()),
      resourceNames: z.array(z.string()).default([]),
    }),
  ),
  nonResourceRules: z.array(z.object({ verbs: z.array(z.string()), nonResourceURLs: z.array(z.string()) })),
});

/** As kubectl writes what the API server answers: a line for each resource, name and address. */
async function listed(server: Asking, user: string, namespace: string): Promise<string[]> {
  const path = '/apis/authorization.k8s.io/v1/selfsubjectrulesreviews';
  const review = {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SelfSubjectRulesReview',
    spec: { namespace },
  };
  const { body } = await server.ask('POST', path, review, 'application/json', user);
  const { resourceRules, nonResourceRules } = rulesSchema.parse(body.status);
  const verbsOf = new Map<string, string[]>();
  const add = (what: string, verbs: readonly string[]) =>
    verbsOf.set(what, [...new Set([...(verbsOf.get(what) ?? []), ...verbs])]);
  for (const { verbs, apiGroups, resources, resourceNames } of resourceRules)
    for (const group of apiGroups)
      for (const resource of resources)
        for (const name of resourceNames.length === 0 ? [''] : resourceNames)
          add(`${resourceOf(resource, group)} [] [${name}]`, verbs);
  return [
    ...[...verbsOf].map(([what, verbs]) => `${what} [${verbs.join(' ')}]`),
    ...nonResourceRules.flatMap(({ verbs, nonResourceURLs }) =>
      nonResourceURLs.flatMap((url) => verbs.map((verb) => `[${url}] [] [${verb}]`)),
    ),
  ];
}

function resourceOf(path: string, group: string): string {
  const [resource = '', ...below] = path.split('/');
  return [group === '' ? resource : `${resource}.${group}`, ...below].join('/');
}

/** Without the heading; columns one blank apart, so that no line depends on the longest one. */
async function listedByKubectl(plane: ControlPlane, user: string, namespace: string): Promise<string[]> {
  const args = ['auth', 'can-i', '--list', '--no-headers', `--as=${user}`, `--namespace=${namespace}`];
  return (await plane.mustKubectl(args))
    .split('\n')
    .map((line) => line.trim().replaceAll(/\s+/g, ' '))
    .filter((line) => line !== '');
}
