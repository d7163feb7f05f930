// What may accounts do, as `kubectl auth can-i --list` tells it? One text, held against a committed one.
//
// PENSTOCK_UPDATE_GOLDEN=1 writes it anew; read the difference before you commit it: it is what an installation is trusted with.

import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect } from 'vitest';
import type { ControlPlane } from './control-plane.ts';

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
async function describeRights(plane: ControlPlane, accounts: readonly Account[]): Promise<string> {
  const ofEverybody = new Set(await listed(plane, stranger, 'default'));
  const blocks: string[] = [];
  for (const { user, namespaces, isMeant = () => true } of accounts) {
    for (const namespace of namespaces) {
      const lines = await listed(plane, user, namespace);
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
  const rights = await describeRights(plane, accounts);
  if (process.env.PENSTOCK_UPDATE_GOLDEN === '1') writeFileSync(file, rights);
  expect(rights).toBe(readFileSync(file, 'utf8'));
}

/** Without the heading; columns one blank apart, so that no line depends on the longest one. */
async function listed(plane: ControlPlane, user: string, namespace: string): Promise<string[]> {
  const args = ['auth', 'can-i', '--list', '--no-headers', `--as=${user}`, `--namespace=${namespace}`];
  return (await plane.mustKubectl(args))
    .split('\n')
    .map((line) => line.trim().replaceAll(/\s+/g, ' '))
    .filter((line) => line !== '');
}
