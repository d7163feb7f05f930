// What is known of an attempt when it is written down? One that was answered; a test shows only what differs.

import type { ProviderEntry, RoutingTable, TargetEntry } from '../../../core/contract/routing-table.ts';
import { type AttemptFacts, buildLedgerRecord } from '../../../gateway/meter/ledger.ts';
import type { Caller } from '../../../gateway/request/caller.ts';
import { buildTableView } from '../../../gateway/table/view.ts';
import { tableOf } from '../rig.ts';

export interface Differing extends Partial<AttemptFacts> {
  readonly key?: Partial<RoutingTable['keys'][number]>;
  readonly provider?: Partial<ProviderEntry>;
  readonly entry?: Partial<TargetEntry>;
}

export function makeFacts({ key, provider, entry, ...more }: Differing = {}): AttemptFacts {
  const table = tableOf([
    {
      baseUrl: 'https://api.upstream.test/v1',
      provider: provider?.id ?? 'platform/p',
      ...(provider && { providerEntry: provider }),
      ...entry,
    },
  ]);
  const [route] = buildTableView(table).routes;
  const target = route?.targets[0];
  const [known] = table.keys;
  if (!route || !target || !known) throw new Error('the table is empty');
  const caller: Caller = { key: { ...known, ...key }, namespace: 'team' };
  return {
    requestId: 'req_1',
    number: 1,
    call: 0,
    tableGeneration: 4,
    caller,
    route,
    model: 'm',
    target,
    providerKey: undefined,
    clientDialect: 'openai-chat',
    upstreamDialect: 'openai-chat',
    isStream: true,
    startedAtMs: Date.UTC(2026, 0, 2, 3, 4, 5, 678),
    durationMs: 120.6,
    firstContentMs: 20.4,
    outcome: 'answered',
    status: 200,
    failure: undefined,
    usage: { input: 100, cachedInput: 0, cacheWrite: 0, output: 50, reasoning: 0 },
    outputEstimate: 48,
    estimateInput: () => 101,
    outputReserved: () => 4_096,
    ...more,
  };
}

export const makeRecord = (more: Differing = {}) => buildLedgerRecord(makeFacts(more));
