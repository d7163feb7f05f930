// What does the table hold for one object? A fingerprint of its entries, by which two tables are compared.

import { hash } from 'node:crypto';
import type { Credential, TableContent } from '../../gateway/contract/routing-table.ts';
import type { Kind } from '../resources/resource.ts';
import { canonicalJson } from './canonical-json.ts';

/** Undefined where the table holds nothing for it. @param id `namespace/name`. */
export type FormOf = (kind: Kind, id: string) => string | undefined;

/** With a memory: entries that are the same values as in the last table are not read again. */
export function createFormIndex(): (content: TableContent) => FormOf {
  const prints = new WeakMap<object, string>();
  const printOf = (entry: object): string => {
    const known = prints.get(entry);
    if (known !== undefined) return known;
    const print = hash('sha256', canonicalJson(entry), 'base64url');
    prints.set(entry, print);
    return print;
  };

  return ({ providers, credentials, routes, keys }) => {
    const ofProviders = collect([
      ...providers.map((entry) => [entry.id, printOf(entry)] as const),
      ...credentials.map((entry) => [providerOf(entry), printOf(entry)] as const),
    ]);
    const ofRoutes = collect(routes.map((entry) => [entry.id, printOf(entry)]));
    const ofKeys = collect(keys.map((entry) => [entry.id, printOf(entry)]));
    const byKind: Readonly<Record<Kind, ReadonlyMap<string, string>>> = {
      Provider: ofProviders,
      ModelRoute: ofRoutes,
      ApiKey: ofKeys,
    };
    return (kind, id) => byKind[kind].get(id);
  };
}

function collect(prints: readonly (readonly [id: string, print: string])[]): Map<string, string> {
  const collected = new Map<string, string>();
  for (const [id, print] of prints) {
    const known = collected.get(id);
    collected.set(id, known === undefined ? print : `${known} ${print}`);
  }
  return collected;
}

/** `namespace/name` of the Provider that a credential belongs to. */
function providerOf({ id }: Credential): string {
  return id.split('/').slice(0, 2).join('/');
}
