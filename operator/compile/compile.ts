// What shall every gateway do, and what do we tell the users? A snapshot and the time in, the content of
// the routing table and one verdict per object out. Pure: the same snapshot gives the same bytes, whatever
// order its lists are in.
//
//   providers ──► compileProvider ─────────────────────────┐
//   routes ─────► draftRoute ──► findModelConflicts ──► compileRoute ──► table, verdicts
//   keys ───────► compileKey ──► findDigestConflicts ──► withConflict ──┘
//
// Each box in camel case that takes one object is remembered by its inputs: one changed key costs one key.

import { type AddressRules, parseAddressRules } from '../../egress/address-rules.ts';
import type { TableContent } from '../../gateway/contract/routing-table.ts';
import { parseApiKey } from '../resources/api-key.ts';
import { type ModelRoute, parseModelRoute } from '../resources/model-route.ts';
import type { Parsed } from '../resources/parse.ts';
import { type Provider, parseProvider } from '../resources/provider.ts';
import type {
  NamespaceRecord,
  PlatformSettings,
  RawObject,
  SecretRecord,
  Snapshot,
} from '../watch/snapshot.ts';
import { findDigestConflicts } from './checks/digest-conflict.ts';
import { findModelConflicts } from './checks/model-conflict.ts';
import { type CompiledKey, compileKey, secretNameOf, turningPoints, withConflict } from './keys.ts';
import { createMemo, createStable } from './memo.ts';
import { compareText } from './order.ts';
import { type CompiledProvider, compileProvider, secretsOf } from './providers.ts';
import { type CompiledRoute, compileRoute, draftRoute, refOf } from './routes.ts';
import type { Verdict } from './verdict.ts';

export interface CompileResult {
  readonly table: TableContent;
  /** One for every object, by kind, namespace and name. */
  readonly verdicts: readonly Verdict[];
  /** Unix milliseconds at which the same snapshot gives another result: a key expires, or is about to. */
  readonly staleAtMs?: number;
  /** How many objects had to be looked at anew; the rest was taken over from the run before. */
  readonly compiled: { readonly providers: number; readonly routes: number; readonly keys: number };
}

/**
 * @param nowMs Unix milliseconds.
 * @throws {Error} where `platform.egressAllow` cannot be read; nothing in the objects themselves throws.
 */
export type Compile = (snapshot: Snapshot, nowMs: number) => CompileResult;

/** A compile with a memory of its last run. */
export function createCompiler(): Compile {
  const memos = {
    parse: createMemo(),
    providers: createMemo(),
    drafts: createMemo(),
    routes: createMemo(),
    keys: createMemo(),
  };
  const stableNamespaces = createStable<NamespaceRecord>();
  const stablePlatform = createStablePlatform();

  return (snapshot, nowMs) => {
    const { platform, addressRules } = stablePlatform(snapshot.platform);
    const namespaces = stableNamespaces(snapshot.namespaces);
    const secrets = new Map(snapshot.secrets.map((secret) => [placeOf(secret), secret]));
    const providers = compileProviders();
    const routes = compileRoutes();
    const { keys, staleAtMs } = compileKeys();

    memos.parse.sweep();
    memos.drafts.sweep();
    return {
      table: buildTable(platform, [...providers.values()], routes, keys),
      verdicts: collectVerdicts(providers, routes, keys),
      ...(staleAtMs === undefined ? {} : { staleAtMs }),
      compiled: {
        providers: memos.providers.sweep(),
        routes: memos.routes.sweep(),
        keys: memos.keys.sweep(),
      },
    };

    function compileProviders(): Map<string, CompiledProvider> {
      const compiled = new Map<string, CompiledProvider>();
      for (const object of present(snapshot.providers)) {
        const place = placeOf(object.metadata);
        const parsed = memos.parse.get(`Provider ${place}`, [object], () => parseProvider(object));
        const secret = (name: string): SecretRecord | undefined =>
          secrets.get(placeOf({ namespace: object.metadata.namespace, name }));
        const used = parsed.ok ? secretsOf(parsed.value.spec).map(secret) : [];
        const inputs = [object, platform, selectorInput(parsed, namespaces), ...used];
        compiled.set(
          place,
          memos.providers.get(place, inputs, () =>
            compileProvider({ object, parsed, secret, namespaces, platform, addressRules }),
          ),
        );
      }
      return compiled;
    }

    function compileRoutes(): CompiledRoute[] {
      const drafts = present(snapshot.modelRoutes).map((object) => {
        const place = placeOf(object.metadata);
        const parsed = memos.parse.get(`ModelRoute ${place}`, [object], () => parseModelRoute(object));
        return memos.drafts.get(place, [object, platform, selectorInput(parsed, namespaces)], () =>
          draftRoute({ object, parsed, namespaces, platform }),
        );
      });
      const claims = drafts.flatMap((draft) => (draft.kind === 'claim' ? [draft.claim] : []));
      const conflicts = findModelConflicts(claims);
      return drafts.map((draft) => {
        if (draft.kind === 'refused') return { verdict: draft.verdict, attachedTo: [] };
        const { claim } = draft;
        const conflict = conflicts.get(claim);
        const targets = claim.route.spec.targets.map((target) =>
          providers.get(placeOf(refOf(claim.namespace, target))),
        );
        const inputs = [claim, conflict?.winner, conflict?.modelId, platform, ...targets];
        return memos.routes.get(placeOf(claim), inputs, () =>
          compileRoute(claim, conflict, targets, platform),
        );
      });
    }

    function compileKeys(): { keys: CompiledKey[]; staleAtMs: number | undefined } {
      let staleAtMs: number | undefined;
      const compiled = present(snapshot.apiKeys).map((object) => {
        const place = placeOf(object.metadata);
        const { namespace } = object.metadata;
        const { parsed, secretName, turns } = memos.parse.get(`ApiKey ${place}`, [object], () =>
          readKey(object),
        );
        const secret =
          secretName === undefined ? undefined : secrets.get(placeOf({ namespace, name: secretName }));
        let passed = 0;
        for (const turn of turns) {
          if (turn <= nowMs) passed += 1;
          else if (staleAtMs === undefined || turn < staleAtMs) staleAtMs = turn;
        }
        // Of the time, only the number of turning points passed makes a difference.
        return memos.keys.get(place, [object, secret, platform, passed], () =>
          compileKey({ object, parsed, secret, keyPrefix: platform.keyPrefix, nowMs }),
        );
      });
      const { refused, contested } = findDigestConflicts(compiled);
      const keys = compiled.map((key) => withConflict(key, refused.get(key), contested.has(key)));
      return { keys, staleAtMs };
    }
  };
}

function readKey(object: RawObject) {
  const parsed = parseApiKey(object);
  return { parsed, secretName: secretNameOf(parsed), turns: turningPoints(parsed) };
}

/** An object on its way out is out: nothing of ours holds a deletion up, and access ends at once. */
function present(objects: readonly RawObject[]): readonly RawObject[] {
  return objects.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
}

function placeOf({ namespace, name }: { readonly namespace: string; readonly name: string }): string {
  return `${namespace}/${name}`;
}

/** The namespaces are an input of those objects alone that select among them. */
function selectorInput(
  parsed: Parsed<Provider> | Parsed<ModelRoute>,
  namespaces: readonly NamespaceRecord[],
): readonly NamespaceRecord[] | undefined {
  return parsed.ok && parsed.value.spec.allowedNamespaces.from === 'Selector' ? namespaces : undefined;
}

interface Platform {
  readonly platform: PlatformSettings;
  readonly addressRules: AddressRules;
}

/** Settings are few and plain, so they are compared by what they say. */
function createStablePlatform(): (next: PlatformSettings) => Platform {
  let last: (Platform & { readonly text: string }) | undefined;
  return (next) => {
    const text = JSON.stringify(next);
    if (last?.text === text) return last;
    last = { text, platform: next, addressRules: parseAddressRules(next.egressAllow) };
    return last;
  };
}

function buildTable(
  platform: PlatformSettings,
  providers: readonly CompiledProvider[],
  routes: readonly CompiledRoute[],
  keys: readonly CompiledKey[],
): TableContent {
  return {
    settings: {
      servicePrefix: platform.servicePrefix,
      keyPrefix: platform.keyPrefix,
      egressAllow: platform.egressAllow.map(({ cidr, namespaces }) => ({
        cidr,
        namespaces: [...namespaces],
      })),
    },
    providers: sortedBy(
      providers.flatMap(({ entry }) => entry ?? []),
      ({ id }) => id,
    ),
    credentials: sortedBy(
      providers.flatMap(({ credentials }) => credentials),
      ({ id }) => id,
    ),
    routes: sortedBy(
      routes.flatMap(({ entry }) => entry ?? []),
      ({ id }) => id,
    ),
    keys: sortedBy(
      keys.flatMap(({ entries }) => entries),
      ({ sha256 }) => sha256,
    ),
  };
}

function collectVerdicts(
  providers: ReadonlyMap<string, CompiledProvider>,
  routes: readonly CompiledRoute[],
  keys: readonly CompiledKey[],
): Verdict[] {
  const attached = new Map<string, number>();
  for (const { attachedTo } of routes) {
    for (const id of attachedTo) attached.set(id, (attached.get(id) ?? 0) + 1);
  }
  const place = ({ namespace, name }: Verdict) => placeOf({ namespace, name });
  return [
    ...sortedBy(
      [...providers].map(([id, { verdict }]) => ({ ...verdict, attachedRoutes: attached.get(id) ?? 0 })),
      place,
    ),
    ...sortedBy(
      routes.map(({ verdict }) => verdict),
      place,
    ),
    ...sortedBy(
      keys.map(({ verdict }) => verdict),
      place,
    ),
  ];
}

function sortedBy<T>(items: readonly T[], key: (item: T) => string): T[] {
  return items.toSorted((a, b) => compareText(key(a), key(b)));
}
