// Compiles a snapshot and the time into the content of the routing table and one verdict per object. Pure: the same snapshot gives the
// same bytes, in any order of its lists.
//
//   providers ──► compileProvider ─────────────────────────┐                          compile-routing.ts
//   routes ─────► draftRoute ──► findModelConflicts ──► compileRoute ──► table, verdicts
//   keys ───────► compileKey ──► findConflicts ──► withConflict ──┘                   compile-keys.ts
//
// If the present form of a Provider or ModelRoute is invalid, its last known good form may be used (`hold-rules.ts`). Each function of one
// object is cached by its inputs, and lists know their changes (`../lists`), so one changed key costs one key.

import type { TableContent } from '../../core/contract/routing-table.ts';
import { type AddressRules, parseAddressRules } from '../../core/egress/address-rules.ts';
import { createJoiner } from '../lists/joiner.ts';
import type {
  NamespaceRecord,
  PlatformSettings,
  RawObject,
  SecretRecord,
  Snapshot,
} from '../watch/snapshot.ts';
import { type Catalog, PRICE_CATALOG } from './catalog.ts';
import { createKeysCompiler } from './compile-keys.ts';
import { createRoutingCompiler } from './compile-routing.ts';
import type { HealthCheck } from './health-check.ts';
import { createPlaceIndex, indexByPlace } from './index-by-place.ts';
import { type LastGood, NOTHING_GOOD } from './last-good.ts';
import { buildTenantBudgets, buildTenantLimits } from './limits.ts';
import { createStable } from './memo.ts';
import { isStaying } from './staying.ts';
import { startTurns } from './turns.ts';
import type { Verdict } from './verdict.ts';

export interface CompileResult {
  readonly table: TableContent;
  /** One for every object, by kind, namespace and name. */
  readonly verdicts: readonly Verdict[];
  /** Of the Providers in the table. */
  readonly healthChecks: readonly HealthCheck[];
  /**
   * Unix milliseconds at which the same snapshot gives another result: a key or a certificate expires, a price changes, a form was
   * held long enough.
   */
  readonly staleAtMs?: number;
  /** How many objects were compiled again; the others are reused from the previous run. */
  readonly compiled: { readonly providers: number; readonly routes: number; readonly keys: number };
}

/**
 * @param nowMs Unix milliseconds.
 * @param lastGood what the table in use holds; absent: nothing is held.
 * @throws {Error} where `platform.egressAllow` cannot be read; nothing in the objects themselves throws.
 */
export type Compile = (snapshot: Snapshot, nowMs: number, lastGood?: LastGood) => CompileResult;

/** A compile with a memory of its last run. */
export function createCompiler(catalog: Catalog = PRICE_CATALOG): Compile {
  let compile = startCompiler(catalog);
  return (snapshot, nowMs, lastGood) => {
    try {
      return compile(snapshot, nowMs, lastGood);
    } catch (error) {
      // An unfinished run must leave nothing remembered.
      compile = startCompiler(catalog);
      throw error;
    }
  };
}

function startCompiler(catalog: Catalog): Compile {
  const compiledRouting = createRoutingCompiler(catalog);
  const compiledKeys = createKeysCompiler();
  const joinVerdicts = createJoiner<Verdict>();
  const indexSecrets = createPlaceIndex<SecretRecord>();
  const stableRoutes = createStable<readonly RawObject[]>();
  const stableNamespaces = createStable<readonly NamespaceRecord[]>();
  const stablePlatform = createStablePlatform();

  return (snapshot, nowMs, lastGood = NOTHING_GOOD) => {
    const { secrets } = snapshot;
    const findSecret = indexSecrets(secrets);
    const { platform, addressRules } = stablePlatform(snapshot.platform);
    const { routing, staleAtMs } = compiledRouting.compile({
      providers: snapshot.providers.filter(isStaying),
      modelRoutes: stableRoutes(snapshot.modelRoutes.filter(isStaying)),
      namespaces: stableNamespaces(snapshot.namespaces),
      findSecret,
      findConfigMap: indexByPlace(snapshot.configMaps),
      platform,
      addressRules,
      lastGood,
      nowMs,
    });
    const keys = compiledKeys.compile({
      apiKeys: snapshot.apiKeys,
      secrets,
      findSecret,
      findHolders: lastGood.keyHolders,
      retiredKeys: snapshot.retiredKeys,
      platform,
      nowMs,
    });
    const turns = startTurns(nowMs);
    turns.at(staleAtMs);
    turns.at(keys.staleAtMs);
    const next = turns.next();
    return {
      table: { settings: settingsOf(platform), ...routing.table, keys: keys.entries },
      verdicts: joinVerdicts(routing.verdicts, keys.verdicts),
      healthChecks: routing.healthChecks,
      ...(next === undefined ? {} : { staleAtMs: next }),
      compiled: { ...compiledRouting.takeCounts(), keys: compiledKeys.takeCount() },
    };
  };
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
    last = { text, platform: next, addressRules: parseAddressRules(next.egressAllow, next.egressDeny) };
    return last;
  };
}

function settingsOf({
  servicePrefix,
  keyPrefix,
  egressAllow,
  egressDeny = [],
  tenantBudgets,
  tenantLimits,
}: PlatformSettings): TableContent['settings'] {
  return {
    servicePrefix,
    keyPrefix,
    egressAllow: egressAllow.map(({ cidr, namespaces }) => ({ cidr, namespaces: [...namespaces] })),
    ...(egressDeny.length > 0 ? { egressDeny: [...egressDeny] } : {}),
    ...buildTenantBudgets(tenantBudgets),
    ...buildTenantLimits(tenantLimits),
  };
}
