// May a ModelRoute serve on in the form of the table in use? It keeps its ids against other routes. The consent of others is checked
// again: the platform, the Providers, and its owner's present consent.

import type { RouteEntry } from '../../core/contract/routing-table.ts';
import type { NamespaceRecord, PlatformSettings, RawObject } from '../watch/snapshot.ts';
import type { Claim } from './checks/model-conflict.ts';
import { notPermitted } from './checks/not-permitted.ts';
import { refNotPermitted } from './checks/ref-not-permitted.ts';
import { reservedPrefix } from './checks/reserved-prefix.ts';
import { consentOf, type LastGood, mayHold, withHeld } from './last-good.ts';
import type { CompiledProvider } from './providers.ts';
import type { CompiledRoute } from './routes.ts';
import { narrowed } from './selector.ts';
import type { HeldForm, ModelRouteVerdict } from './verdict.ts';

/** The claim of a form that is held, instead of the claim of its object's present form. */
export interface HeldClaim extends Claim {
  readonly entry: RouteEntry;
  readonly held: HeldForm;
  /** Of the form that cannot be served. */
  readonly present: CompiledRoute;
}

interface HoldRouteInput {
  readonly object: RawObject;
  readonly present: CompiledRoute;
  readonly namespaces: readonly NamespaceRecord[];
  readonly platform: PlatformSettings;
  readonly lastGood: LastGood;
  readonly nowMs: number;
  readonly findProvider: (id: string) => CompiledProvider | undefined;
}

/** Undefined where nothing of the last form may be served. */
export function holdRoute(input: HoldRouteInput): HeldClaim | undefined {
  const { object, present, platform, lastGood } = input;
  const { namespace, name, creationTimestamp } = object.metadata;
  const held = mayHold('ModelRoute', object, present.verdict, lastGood, input.nowMs);
  const good = lastGood.route(`${namespace}/${name}`);
  if (held === undefined || good === undefined || isDrained(present.verdict)) return undefined;
  if (isForbiddenNow(namespace, good, platform)) return undefined;

  const sharedWith = narrowed(good.sharedWith, consentOf(object, input.namespaces, platform));
  const targets = good.targets.filter(({ name: target, provider }) => {
    const found = input.findProvider(provider);
    const [ofNamespace = '', ofName = ''] = provider.split('/');
    const use = { target, namespace, provider: { namespace: ofNamespace, name: ofName } };
    return found?.entry !== undefined && refNotPermitted(use, found.sharedWith) === undefined;
  });
  if (targets.length === 0) return undefined;
  const isSame =
    targets.length === good.targets.length && JSON.stringify(sharedWith) === JSON.stringify(good.sharedWith);
  return {
    namespace,
    name,
    createdAt: typeof creationTimestamp === 'string' ? creationTimestamp : '',
    ids: [good.model, ...good.aliases],
    sharedWith,
    entry: isSame ? good : { ...good, sharedWith, targets },
    held,
    present,
  };
}

/** Whether the platform's settings no longer permit a route what it has. */
export function isForbiddenNow(
  namespace: string,
  { model, aliases, visibility }: RouteEntry,
  platform: PlatformSettings,
): boolean {
  const wish = { allowedNamespaces: { from: 'Same' as const }, visibility };
  return (
    (reservedPrefix(namespace, [model, ...aliases], platform) ?? notPermitted(namespace, wish, platform)) !==
    undefined
  );
}

/** Every target was drained by its owner. */
function isDrained({ targets }: ModelRouteVerdict): boolean {
  return targets.length > 0 && targets.every(({ state }) => state === 'Drained');
}

/** @param hasConflict another route holds one of its ids now. */
export function settleHeldRoute({ entry, held, present }: HeldClaim, hasConflict: boolean): CompiledRoute {
  if (hasConflict) return present;
  const { verdict } = present;
  return {
    verdict: {
      ...withHeld(verdict, held),
      ...(verdict.targets.length > 0
        ? {}
        : { targets: entry.targets.map(({ name }) => ({ name, state: 'Ready' })) }),
    },
    entry,
    attachedTo: [...new Set(entry.targets.map(({ provider }) => provider))],
  };
}
