// When is a refused candidate worth another try with what the newest table says?

import { describe, expect, test } from 'vitest';
import type { RoutingTable } from '../../../core/contract/routing-table.ts';
import type { Candidate } from '../../../gateway/route/plan.ts';
import { renewCandidate } from '../../../gateway/route/renew.ts';
import { buildTableView } from '../../../gateway/table/view.ts';
import { type RigTarget, tableOf } from '../rig.ts';

const baseUrl = 'https://api.upstream.test/v1';
const target: RigTarget = { baseUrl, keys: { main: 'sk-1', spare: 'sk-2' } };

/** The first key of the first target. */
function candidateIn(table: RoutingTable): Candidate {
  const [first] = buildTableView(table).routes[0]?.targets ?? [];
  const [endpoint] = first?.endpoints ?? [];
  if (first === undefined || endpoint === undefined) throw new Error('the table has no candidate');
  return { target: first, endpoint, dialect: 'openai-chat' };
}

const candidate = candidateIn(tableOf([target]));

function keyFrom(table: RoutingTable, resting = ''): string | undefined {
  const isCoolingDown = ({ endpoint: { key } }: Candidate): boolean => key?.secret.reveal() === resting;
  return renewCandidate(
    candidate,
    'team/m',
    buildTableView(table),
    isCoolingDown,
  )?.endpoint.key?.secret.reveal();
}

describe('the newest table', () => {
  test.each<[string, RoutingTable, string | undefined]>([
    ['with the same credentials says nothing new', tableOf([target]), undefined],
    [
      'with another value gives that',
      tableOf([{ ...target, keys: { main: 'sk-9', spare: 'sk-2' } }]),
      'sk-9',
    ],
    [
      'with another value of another key says nothing new',
      tableOf([{ ...target, keys: { main: 'sk-1', spare: 'sk-9' } }]),
      undefined,
    ],
    ['without the key gives another one', tableOf([{ ...target, keys: { next: 'sk-9' } }]), 'sk-9'],
    ['without any key gives none', tableOf([{ ...target, keys: {} }]), undefined],
    [
      'with another address of the provider gives that',
      tableOf([{ ...target, baseUrl: `${baseUrl}/2` }]),
      'sk-1',
    ],
    [
      'with other rules for TLS gives those',
      tableOf([{ ...target, providerEntry: { tls: { minVersion: 'TLSv1.3' } } }]),
      'sk-1',
    ],
    ['without the target gives none', tableOf([{ ...target, name: 'other' }]), undefined],
    [
      'with another provider at the target gives none',
      tableOf([{ ...target, provider: 'platform/x' }]),
      undefined,
    ],
    [
      'with other dialects at the target gives none',
      tableOf([{ ...target, dialects: ['anthropic-messages'], keys: { main: 'sk-9' } }]),
      undefined,
    ],
    ['without the route gives none', { ...tableOf([target]), routes: [] }, undefined],
  ])('%s', (_, table, key) => {
    expect(keyFrom(table)).toBe(key);
  });

  test('a key in cooldown is not taken', () => {
    const others = tableOf([{ ...target, keys: { next: 'sk-8', last: 'sk-9' } }]);
    expect([keyFrom(others), keyFrom(others, 'sk-8')]).toEqual(['sk-8', 'sk-9']);
    expect(keyFrom(tableOf([{ ...target, keys: { next: 'sk-8' } }]), 'sk-8')).toBeUndefined();
    // Its own is there: another one is not what replaced it.
    expect(keyFrom(tableOf([target]), 'sk-1')).toBeUndefined();
    expect(keyFrom(tableOf([{ ...target, keys: { main: 'sk-9', spare: 'sk-2' } }]), 'sk-9')).toBeUndefined();
  });

  test('a drained key is not taken', () => {
    const table = tableOf([{ ...target, keys: { main: 'sk-9', spare: 'sk-3' } }]);
    const [entry] = table.providers;
    if (entry === undefined) throw new Error('there is a provider');
    const keys = entry.keys.map((key) => (key.name === 'main' ? { ...key, weight: 0 } : key));
    expect(keyFrom({ ...table, providers: [{ ...entry, keys }] })).toBe('sk-3');
  });
});
