// Fingerprints of the entries of an object, to compare two tables.

import { hash } from 'node:crypto';
import type { Credential, TableContent } from '../../core/contract/routing-table.ts';
import { canonicalJson } from '../canonical-json.ts';
import { differing } from '../lists/differing.ts';
import { emptyMap, type SharedMap } from '../lists/shared-map.ts';
import type { Kind } from '../resources/resource.ts';

/** Undefined where the table holds nothing for it. @param id `namespace/name`. */
export type FormOf = (kind: Kind, id: string) => string | undefined;

export interface Forms {
  readonly of: FormOf;
  /** Objects with another form than in the call before, at the first call all; each as `Kind/namespace/name`. */
  readonly changed: ReadonlySet<string>;
}

/** With a memory: entries that are the same values as in the last table are not read again. */
interface FormIndex {
  index(content: TableContent): Forms;
  /** Reads the keys in pieces, so that an index of a table that is new as a whole does not have to. */
  prepare(content: TableContent, yieldNow: () => Promise<void>): Promise<void>;
}

/** Some ten milliseconds. */
const KEYS_AT_ONCE = 1_000;

export function createFormIndex(): FormIndex {
  const known = new WeakMap<object, string>();
  const indexProviders = createPrintIndex<TableContent['providers'][number]>(({ id }) => id, printOf);
  const indexCredentials = createPrintIndex<Credential>(providerOf, printOf);
  const indexRoutes = createPrintIndex<TableContent['routes'][number]>(({ id }) => id, printOf);
  const indexKeys = createPrintIndex<TableContent['keys'][number]>(({ id }) => id, printOf);

  return {
    index,
    async prepare({ keys }, yieldNow) {
      for (const [index, entry] of keys.entries()) {
        printOf(entry);
        if (index % KEYS_AT_ONCE === KEYS_AT_ONCE - 1) await yieldNow();
      }
    },
  };

  function printOf(entry: object): string {
    const print = known.get(entry) ?? hash('sha256', canonicalJson(entry), 'base64url');
    known.set(entry, print);
    return print;
  }

  function index({ providers, credentials, routes, keys }: TableContent): Forms {
    const ofProviders = indexProviders(providers);
    const ofCredentials = indexCredentials(credentials);
    const ofRoutes = indexRoutes(routes);
    const ofKeys = indexKeys(keys);
    const named = (kind: Kind, { changed }: Index) => [...changed].map((id) => `${kind}/${id}`);
    return {
      changed: new Set([
        ...named('Provider', ofProviders),
        ...named('Provider', ofCredentials),
        ...named('ModelRoute', ofRoutes),
        ...named('ApiKey', ofKeys),
      ]),
      of(kind, id) {
        switch (kind) {
          case 'Provider':
            return joined(ofProviders.prints.get(id), ofCredentials.prints.get(id));
          case 'ModelRoute':
            return ofRoutes.prints.get(id);
          case 'ApiKey':
            return ofKeys.prints.get(id);
        }
      },
    };
  }
}

interface Index {
  /** Of all entries of an object, by its id. */
  readonly prints: SharedMap<string>;
  /** Ids of the objects whose entries have changed since the last call. */
  readonly changed: ReadonlySet<string>;
}

function createPrintIndex<T extends object>(
  ownerOf: (entry: T) => string,
  printOf: (entry: T) => string,
): (entries: readonly T[]) => Index {
  let last: readonly T[] = [];
  let prints: Index['prints'] = emptyMap();
  return (entries) => {
    const { gone, added } = differing(last, entries);
    last = entries;
    const next = new Map<string, string | undefined>();
    const current = (owner: string) => (next.has(owner) ? next.get(owner) : prints.get(owner));
    for (const entry of gone) next.set(ownerOf(entry), without(current(ownerOf(entry)), printOf(entry)));
    for (const entry of added) next.set(ownerOf(entry), joined(current(ownerOf(entry)), printOf(entry)));
    // A new map: holders of the former map continue to see the forms of the former table.
    prints = prints.with(next);
    return { prints, changed: new Set(next.keys()) };
  };
}

/** In one order, whichever of them came first. */
function joined(a: string | undefined, b: string | undefined): string | undefined {
  return a === undefined || b === undefined ? (a ?? b) : [...a.split(' '), ...b.split(' ')].sort().join(' ');
}

function without(prints: string | undefined, print: string): string | undefined {
  if (prints === print) return undefined;
  const left = prints?.split(' ') ?? [];
  left.splice(left.indexOf(print), 1);
  return left.length === 0 ? undefined : left.join(' ');
}

/** `namespace/name` of the Provider that a credential belongs to. */
export function providerOf({ id }: Pick<Credential, 'id'>): string {
  return id.split('/').slice(0, 2).join('/');
}
