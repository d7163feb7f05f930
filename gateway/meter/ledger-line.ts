// A ledger record as the journal has it: the JSON of `buildLedgerRecord`, written without the object. What does not change from one
// attempt to the next is text already, kept for each entry of the table as long as the table is. Pure.

import type { Usage } from '../../core/contract/ledger-record.ts';
import type { KeyEntry } from '../../core/contract/routing-table.ts';
import type { Caller } from '../request/caller.ts';
import type { RouteView, TargetView } from '../table/view.ts';
import { type AttemptFacts, estimatedBy, type RatedAttempt } from './ledger.ts';

export function ledgerLine(facts: AttemptFacts, rated: RatedAttempt): string {
  const { number, call, status, cause } = facts;
  const { firstContentMs, usage, costPicodollars } = rated;
  const request = JSON.stringify(facts.requestId);
  const route = routeText(facts.route);
  const target = targetText(facts.target);
  const key = keyText(facts.caller);
  return (
    `{"id":${request.slice(0, -1)}.${number}","request":${request},"attempt":${number}` +
    (call === 0 ? '' : `,"call":${call}`) +
    `,"startedAt":"${isoTime(facts.startedAtMs)}","durationMs":${rated.durationMs}` +
    (firstContentMs === undefined ? '' : `,"firstContentMs":${firstContentMs}`) +
    `,"tableGeneration":${facts.tableGeneration}${key.head}${route}` +
    (facts.model === facts.route.entry.model ? '' : member('requestedModel', facts.model)) +
    target.keyed(facts.providerKey) +
    `,"clientDialect":"${rated.clientDialect}","upstreamDialect":"${rated.upstreamDialect}"` +
    `,"isStream":${rated.isStream},"outcome":"${rated.outcome}"` +
    (status === undefined ? '' : `,"status":${status}`) +
    member('failure', rated.failure) +
    member('cause', cause) +
    `,"usage":${usageText(usage)},"isEstimated":${rated.isEstimated}` +
    (rated.isEstimated ? `,"estimatedBy":"${estimatedBy(facts)}"` : '') +
    `${target.price},"costPicodollars":${costPicodollars},"payer":"${rated.payer}"${key.tail}}`
  );
}

function usageText(usage: Usage): string {
  return (
    `{"input":${usage.input},"cachedInput":${usage.cachedInput},"cacheWrite":${usage.cacheWrite}` +
    count('cacheWriteHour', usage.cacheWriteHour) +
    `,"output":${usage.output},"reasoning":${usage.reasoning}` +
    `${count('audioInput', usage.audioInput)}${count('audioOutput', usage.audioOutput)}}`
  );
}

function count(name: string, tokens: number | undefined): string {
  return tokens === undefined ? '' : `,"${name}":${tokens}`;
}

/** Nothing if there is no value. */
function member(name: string, value: unknown): string {
  return value === undefined ? '' : `,"${name}":${JSON.stringify(value)}`;
}

const routes = new WeakMap<RouteView, string>();

function routeText(route: RouteView): string {
  let text = routes.get(route);
  if (text === undefined) {
    text = member('route', route.entry.id) + member('model', route.entry.model);
    routes.set(route, text);
  }
  return text;
}

class TargetText {
  readonly price: string;
  private readonly target: TargetView;
  /** By names of keys, of which the table has few for a target. */
  private readonly byKey = new Map<string | undefined, string>();

  constructor(target: TargetView) {
    this.target = target;
    this.price = member('price', target.entry.price);
  }

  keyed(key: string | undefined): string {
    let text = this.byKey.get(key);
    if (text === undefined) {
      const { entry, provider } = this.target;
      text =
        member('target', entry.name) +
        member('provider', provider.entry.id) +
        member('providerKey', key) +
        member('upstreamModel', entry.upstreamModel);
      this.byKey.set(key, text);
    }
    return text;
  }
}

const targets = new WeakMap<TargetView, TargetText>();

function targetText(target: TargetView): TargetText {
  let text = targets.get(target);
  if (text === undefined) {
    text = new TargetText(target);
    targets.set(target, text);
  }
  return text;
}

interface KeyText {
  readonly namespace: string;
  readonly head: string;
  readonly tail: string;
}

const keys = new WeakMap<KeyEntry, KeyText>();

function keyText({ key, namespace }: Caller): KeyText {
  let text = keys.get(key);
  if (text?.namespace !== namespace) {
    const head = member('namespace', namespace) + member('apiKey', key.id);
    text = { namespace, head, tail: member('owner', key.owner) + member('metadata', key.metadata) };
    keys.set(key, text);
  }
  return text;
}

/** Text of the last written second, up to its decimal point. */
let second = { sinceMs: Number.NaN, text: '' };

/** RFC 3339, UTC: most attempts begin in the second of the one before. */
function isoTime(unixMs: number): string {
  const whole = Math.floor(unixMs);
  const sinceMs = whole - (whole % 1_000);
  if (sinceMs !== second.sinceMs) second = { sinceMs, text: new Date(sinceMs).toISOString().slice(0, -4) };
  return `${second.text}${String(whole - sinceMs).padStart(3, '0')}Z`;
}
