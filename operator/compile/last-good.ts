// Inputs that the compilation takes from the table in use, to hold the last known good form of an object.

import type { Credential, ProviderEntry, RouteEntry } from '../../core/contract/routing-table.ts';
import { type AllowedNamespaces, allowedNamespacesField } from '../resources/fields.ts';
import { membersOf } from '../resources/loose.ts';
import type { NamespaceRecord, PlatformSettings, RawObject } from '../watch/snapshot.ts';
import type { FindHolders } from './checks/digest-conflict.ts';
import { notPermitted } from './checks/not-permitted.ts';
import { ruleOfForm } from './hold-rules.ts';
import { resolveNamespaces, type SharedWith } from './selector.ts';
import { type Condition, type Finding, type HeldForm, holds, type Verdict } from './verdict.ts';

export interface GoodProvider {
  readonly entry: ProviderEntry;
  /** All that belong to it. */
  readonly credentials: readonly Credential[];
}

export interface HoldFacts {
  /** Since when the form in use is not the present one, in Unix milliseconds; undefined where that begins now. */
  readonly sinceMs?: number;
  /** metadata.generation of the form in use. */
  readonly generation?: number;
}

export interface LastGood {
  /** How long a form is held, in milliseconds; 0: not at all. */
  readonly holdMs: number;
  /** @param id `namespace/name`. */
  provider(id: string): GoodProvider | undefined;
  route(id: string): RouteEntry | undefined;
  readonly keyHolders: FindHolders;
  /** Undefined: the form in use was not made of this object, but of an earlier one of its name. */
  facts(kind: 'Provider' | 'ModelRoute', object: RawObject): HoldFacts | undefined;
}

export const NOTHING_GOOD: LastGood = {
  holdMs: 0,
  provider: () => undefined,
  route: () => undefined,
  keyHolders: () => new Map(),
  facts: () => undefined,
};

/**
 * Until when the last form may be held, though the present one cannot be served; undefined where it may not.
 *
 * @param verdict on the present form.
 */
export function mayHold(
  kind: 'Provider' | 'ModelRoute',
  object: RawObject,
  verdict: Pick<Verdict, 'isInTable' | 'conditions'>,
  lastGood: LastGood,
  nowMs: number,
): HeldForm | undefined {
  const fault = faultOf(verdict);
  if (verdict.isInTable || fault === undefined || isSuspended(object)) return undefined;
  if (ruleOfForm(fault.reason) === 'at-once') return undefined;
  const facts = lastGood.facts(kind, object);
  if (facts === undefined) return undefined;
  const sinceMs = Math.floor((facts.sinceMs ?? nowMs) / 1_000) * 1_000;
  const untilMs = sinceMs + lastGood.holdMs;
  if (lastGood.holdMs === 0 || untilMs <= nowMs) return undefined;
  return { sinceMs, untilMs, ...(facts.generation === undefined ? {} : { generation: facts.generation }) };
}

/** What keeps the present form out. */
function faultOf({ conditions }: Pick<Verdict, 'conditions'>): Finding | undefined {
  return conditions.find(
    ({ type, status }) => status === 'False' && (type === 'Accepted' || type === 'ResolvedRefs'),
  );
}

/** Whatever else is wrong with the object. */
function isSuspended({ spec }: RawObject): boolean {
  return membersOf(spec).suspended === true;
}

/** The verdict on an object that serves in its last good form. */
export function withHeld<V extends Pick<Verdict, 'conditions' | 'isInTable' | 'held'>>(
  verdict: V,
  held: HeldForm,
): V {
  const fault = faultOf(verdict);
  const until = new Date(held.untilMs).toISOString().replace('.000Z', 'Z');
  const form = held.generation === undefined ? 'the form before' : `generation ${held.generation}`;
  const field =
    /^spec[\w.[\]-]*/.exec(fault?.message ?? '')?.[0] ?? 'the object, as the condition Degraded says';
  const stalled = `correct ${field}; ${form} serves until ${until}, then the object leaves service`;
  const message = `${form} serves until ${until}, because the current form cannot be served: ${fault?.message ?? ''}`;
  const others = verdict.conditions.filter(({ type }) => type !== 'Degraded');
  const isRefused = others.some(({ type, status }) => type === 'Accepted' && status === 'False');
  const conditions: readonly Condition[] = [
    ...others.filter(({ type }) => type !== 'Stalled'),
    holds('Degraded', 'LastKnownGood', message),
    // The present form never gets into service, so a `kubectl wait` for it should fail at once.
    ...(isRefused ? [holds('Stalled', 'LastKnownGood', stalled)] : []),
  ];
  return { ...verdict, conditions, isInTable: true, held };
}

const allowedNamespacesSchema = allowedNamespacesField('');

/** Whom the present form of the object shares it with. Only its own namespace if that member is invalid or not permitted. */
export function consentOf(
  { metadata, spec }: RawObject,
  namespaces: readonly NamespaceRecord[],
  platform: PlatformSettings,
): SharedWith {
  const parsed = allowedNamespacesSchema.safeParse(membersOf(spec).allowedNamespaces);
  const allowed: AllowedNamespaces = parsed.success ? parsed.data : { from: 'Same' };
  if (notPermitted(metadata.namespace, { allowedNamespaces: allowed }, platform) !== undefined) return [];
  return resolveNamespaces(allowed, metadata.namespace, namespaces);
}
