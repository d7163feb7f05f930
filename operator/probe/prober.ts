// Runs the operator's health checks: one call to each Provider per interval, with its keys in rotation.

import type { Clock } from '../../core/clock.ts';
import {
  type Credential,
  credentialsOf,
  type HealthHint,
  type ProviderEntry,
  type TableContent,
} from '../../core/contract/routing-table.ts';
import { type AddressRules, parseAddressRules } from '../../core/egress/address-rules.ts';
import type { HealthCheck } from '../compile/health-check.ts';
import { createMemo } from '../compile/memo.ts';
import { buildCheck, type CheckOutcome, judgeCheck } from './check.ts';
import type { CheckRoute, SendCheck } from './send-check.ts';
import { type CheckRecord, settleCheck, UNCHECKED } from './settle-check.ts';

/** What the checks of one Provider have shown. */
export interface CheckFindings {
  readonly endpoint: CheckRecord;
  /** Keys that it refuses, by name, each with a sentence. */
  readonly refusedKeys: ReadonlyMap<string, string>;
}

export interface ProberParts {
  readonly clock: Clock;
  /** From 0 up to 1. */
  random(): number;
  readonly send: SendCheck;
  /** Another finding about this Provider, by `namespace/name`. */
  onChange(provider: string): void;
  /** What one check gave. */
  onChecked(result: CheckOutcome['type']): void;
}

interface Prober {
  /** The checks of the table in use. Findings stay as long as address and credentials do. */
  watch(
    checks: readonly HealthCheck[],
    table: Pick<TableContent, 'providers' | 'credentials' | 'settings'>,
  ): void;
  /** Taken over from the leader before: what it found unhealthy is so until a check says otherwise. */
  recall(hints: readonly HealthHint[]): void;
  findings(provider: string): CheckFindings | undefined;
  /** Troubles alone, ordered. */
  hints(): readonly HealthHint[];
  close(): void;
}

/** In place of a reason that only the previous leader knew. */
export const FOUND_EARLIER = 'result of an earlier check';

/** The first check comes within so long; until something is known, so does the next one after a failure. */
const firstWithinMs = 1_000;
/** Of an interval, up or down: checks of many Providers spread. */
const spread = 0.1;
const atOnceMax = 16;

interface Watched {
  /** Changes where what was found no longer holds. */
  readonly identity: string;
  readonly stop: () => void;
}

export function createProber({ clock, random, send, onChange, onChecked }: ProberParts): Prober {
  const watched = new Map<string, Watched>();
  const known = new Map<string, CheckFindings>();
  const identities = createMemo();
  const waiting: (() => void)[] = [];
  let running = 0;
  let isClosed = false;

  return {
    watch(checks, table) {
      if (isClosed) return;
      const entries = new Map(table.providers.map((entry) => [entry.id, entry]));
      const credentials = new Map(table.credentials.map((credential) => [credential.id, credential]));
      const wanted = new Map(
        checks.filter(({ provider }) => entries.has(provider)).map((check) => [check.provider, check]),
      );
      for (const [provider, { stop }] of watched) {
        if (wanted.has(provider)) continue;
        stop();
        watched.delete(provider);
      }
      for (const provider of known.keys()) {
        if (wanted.has(provider)) continue;
        known.delete(provider);
        onChange(provider);
      }
      const { egressAllow, egressDeny } = table.settings;
      const reach = JSON.stringify([egressAllow, egressDeny]);
      let rules: AddressRules | undefined;
      for (const [provider, check] of wanted) {
        const entry = entries.get(provider);
        if (entry === undefined) continue;
        const used = credentialsOf(entry).flatMap((id) => credentials.get(id) ?? []);
        const identity = identities.get(entry, [check, reach, ...used], () =>
          identityOf(check, entry, used, reach),
        );
        const before = watched.get(provider);
        if (before?.identity === identity) continue;
        before?.stop();
        if (before !== undefined && known.delete(provider)) onChange(provider);
        // Only its own: what it is checked with outlives this table.
        const values = new Map(used.map(({ id, value }) => [id, value]));
        rules ??= parseAddressRules(egressAllow, egressDeny);
        watched.set(provider, start(check, { entry, rules, reveal: (id) => values.get(id) }, identity));
      }
    },
    recall(hints) {
      for (const { provider, key } of hints) {
        const { endpoint, refusedKeys } = known.get(provider) ?? {
          endpoint: UNCHECKED,
          refusedKeys: new Map(),
        };
        known.set(
          provider,
          key === undefined
            ? { endpoint: { state: 'unhealthy', against: 0, message: FOUND_EARLIER }, refusedKeys }
            : { endpoint, refusedKeys: new Map([...refusedKeys, [key, FOUND_EARLIER]]) },
        );
      }
    },
    findings: (provider) => known.get(provider),
    hints: () =>
      [...known]
        .flatMap(([provider, { endpoint, refusedKeys }]): HealthHint[] => [
          ...(endpoint.state === 'unhealthy' ? [{ provider }] : []),
          ...[...refusedKeys.keys()].sort().map((key) => ({ provider, key })),
        ])
        .sort((a, b) => (a.provider < b.provider ? -1 : a.provider > b.provider ? 1 : 0)),
    close() {
      isClosed = true;
      for (const { stop } of watched.values()) stop();
      watched.clear();
    },
  };

  function start(check: HealthCheck, route: CheckRoute, identity: string): Watched {
    const ending = new AbortController();
    let cancel = clock.setTimer(random() * Math.min(firstWithinMs, check.intervalMs), run);
    return {
      identity,
      stop() {
        ending.abort();
        cancel();
      },
    };

    function run(): void {
      inTurn(async () => {
        if (ending.signal.aborted) return;
        await checkAll(check, route, ending.signal);
        if (ending.signal.aborted) return;
        const isUnknown = known.get(check.provider)?.endpoint.state === 'unknown';
        const nextMs = isUnknown ? Math.min(firstWithinMs, check.intervalMs) : check.intervalMs;
        cancel = clock.setTimer(nextMs * (1 + spread * (2 * random() - 1)), run);
      });
    }
  }

  /** No more at once than the machine bears. */
  function inTurn(work: () => Promise<void>): void {
    const begin = (): void => {
      running += 1;
      void work().finally(() => {
        running -= 1;
        waiting.shift()?.();
      });
    };
    if (running < atOnceMax) begin();
    else waiting.push(begin);
  }

  /** Where it does not answer at all, one key is enough. */
  async function checkAll(check: HealthCheck, route: CheckRoute, signal: AbortSignal): Promise<void> {
    const { entry, reveal } = route;
    const keys = entry.auth === undefined ? [undefined] : entry.keys.filter(({ weight }) => weight > 0);
    const refusedKeys = new Map<string, string>();
    let failure: string | undefined;
    for (const key of keys) {
      const call = buildCheck(check.request, entry, key?.credential, reveal);
      const answer = await send(call, route, check.timeoutMs, signal);
      if (signal.aborted) return;
      const outcome = judgeCheck(check.request, call, answer);
      onChecked(outcome.type);
      if (outcome.type === 'refused' && key !== undefined) refusedKeys.set(key.name, outcome.message);
      if (outcome.type === 'refused' && key === undefined) failure = outcome.message;
      if (outcome.type === 'fails') {
        failure = outcome.message;
        break;
      }
    }
    note(check, failure, failure === undefined ? refusedKeys : undefined);
  }

  /** @param refusedKeys undefined: nothing was learnt about keys. */
  function note(
    check: HealthCheck,
    failure: string | undefined,
    refusedKeys: ReadonlyMap<string, string> | undefined,
  ): void {
    const { provider } = check;
    const before = known.get(provider);
    const after = {
      endpoint: settleCheck(before?.endpoint ?? UNCHECKED, failure, check),
      refusedKeys: refusedKeys ?? before?.refusedKeys ?? new Map(),
    };
    known.set(provider, after);
    if (words(before) !== words(after)) onChange(provider);
  }
}

function words(findings: CheckFindings | undefined): string {
  return findings === undefined
    ? ''
    : JSON.stringify([findings.endpoint.state, [...findings.refusedKeys.keys()]]);
}

/** Without the values: fingerprints distinguish them. */
function identityOf(
  check: HealthCheck,
  entry: ProviderEntry,
  used: readonly Credential[],
  reach: string,
): string {
  return JSON.stringify([check, entry, used.map(({ fingerprint }) => fingerprint), reach]);
}
