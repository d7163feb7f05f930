// Which edits stop callers, and in which words are they confirmed?

import { describe, expect, test } from 'vitest';
import { effectsOfKeyEdit } from '../../../dashboard/pages/keys/edit-effects.ts';
import {
  effectsOfProviderEdit,
  effectsOfRouteEdit,
} from '../../../dashboard/pages/providers/edit-effects.ts';
import { openFormats } from '../../../dashboard/pages/words/format.ts';
import type { ApiKey, ModelRoute, Provider } from '../../../dashboard/pages/words/kube.ts';

const formats = openFormats('en-US', 'UTC');
const nowMs = Date.parse('2026-11-28T12:00:00Z');
const metadata = { namespace: 'team-a', name: 'it' };

describe('an edit of a key says', () => {
  const month = { period: 'Month', limit: '100.00' } as const;
  const keyOf = (spec: ApiKey['spec']): ApiKey => ({
    metadata,
    spec,
    status: { usage: { periods: [{ period: 'Month', start: '2026-11-01T00:00:00Z', spend: '9.00' }] } },
  });
  const effects = (before: ApiKey['spec'], after: ApiKey['spec']) =>
    effectsOfKeyEdit(keyOf(before), keyOf(after), formats, nowMs);
  const usedUp = 'Monthly budget used up: $9.00 of $5.00. Refused until Dec 1, 2026, 00:00 UTC (in 2 days).';

  test.each<[string, ApiKey['spec'], ApiKey['spec'], readonly string[]]>([
    ['a budget below what is spent', { budgets: [month] }, { budgets: [{ ...month, limit: '5' }] }, [usedUp]],
    ['a first budget below what is spent', {}, { budgets: [{ ...month, limit: '5' }] }, [usedUp]],
    [
      'a used-up budget that only warned until now',
      { budgets: [{ ...month, limit: '5', action: 'Warn' }] },
      { budgets: [{ ...month, limit: '5', action: 'Block' }] },
      [usedUp],
    ],
    [
      'a budget whose spend is not known, and may be used up',
      { budgets: [month] },
      { budgets: [month, { period: 'Day', limit: '2' }] },
      ['Calls are refused if $2.00 or more is already spent today.'],
    ],
    [
      'models that are taken away',
      { models: { allow: ['a', 'b*'] } },
      { models: { allow: ['b*'] } },
      ['Calls of a are refused.'],
    ],
    [
      'a first list of models',
      {},
      { models: { allow: ['a', 'b*'] } },
      ['Calls of models other than a, b* are refused.'],
    ],
    [
      'an earlier end',
      { expiresAt: '2027-01-01T00:00:00Z' },
      { expiresAt: '2026-12-01T00:00:00Z' },
      ['The key expires Dec 1, 2026, 00:00 UTC. Calls are refused from then on.'],
    ],
    [
      'a lower limit',
      { limits: { requestsPerMinute: 60, tokensPerMinute: 1_000 } },
      { limits: { requestsPerMinute: 5, tokensPerMinute: 1_000 } },
      ['Calls beyond 5 requests per minute are refused.'],
    ],
  ])('%s', (_, before, after, said) => {
    expect(effects(before, after)).toEqual(said);
  });

  test.each<[string, ApiKey['spec'], ApiKey['spec']]>([
    ['a budget with room', { budgets: [month] }, { budgets: [{ ...month, limit: '10' }] }],
    [
      'a budget that was used up before',
      { budgets: [{ ...month, limit: '5' }] },
      { budgets: [{ ...month, limit: '6' }] },
    ],
    [
      'a budget of a day, above the spend of its month',
      { budgets: [month] },
      { budgets: [month, { period: 'Day', limit: '9.50' }] },
    ],
    ['a warning', {}, { budgets: [{ ...month, limit: '5', action: 'Warn' }] }],
    ['models under a wildcard', { models: { allow: ['a/b', 'a/*'] } }, { models: { allow: ['a/*'] } }],
    ['no list of models any more', { models: { allow: ['a'] } }, {}],
    ['a later end, and none', { expiresAt: '2027-01-01T00:00:00Z' }, {}],
    [
      'a higher limit, and none',
      { limits: { requestsPerMinute: 5, tokensPerMinute: 9 } },
      { limits: { requestsPerMinute: 6 } },
    ],
    ['a name', {}, { displayName: 'Night run' }],
  ])('nothing of %s', (_, before, after) => {
    expect(effects(before, after)).toEqual([]);
  });

  test('nothing of a key that was never used', () => {
    const unused: ApiKey = { metadata, spec: {} };
    const budgets = [{ period: 'Total', limit: '5' }] as const;
    expect(effectsOfKeyEdit(unused, { metadata, spec: { budgets } }, formats, nowMs)).toEqual([]);
  });
});

describe('an edit of a route says', () => {
  const target = (name: string, more: object = {}) => ({
    ...{ name, providerRef: { name: `${name}-models` }, upstreamModel: 'llama-4' },
    ...more,
  });
  const routeOf = (spec: Partial<ModelRoute['spec']>): ModelRoute => ({
    metadata,
    spec: { model: 'llama', targets: [target('main'), target('spare')], ...spec },
    status: {
      targets: [
        { name: 'main', state: 'Ready' },
        { name: 'spare', state: 'Unhealthy' },
      ],
    },
  });
  const effects = (before: Partial<ModelRoute['spec']>, after: Partial<ModelRoute['spec']>) =>
    effectsOfRouteEdit(routeOf(before), routeOf(after));

  test.each<[string, Partial<ModelRoute['spec']>, Partial<ModelRoute['spec']>, readonly string[]]>([
    [
      'an alias that is taken away',
      { aliases: ['gpt-4', 'x'] },
      { aliases: ['x'] },
      ['Calls of gpt-4 are refused.'],
    ],
    [
      'callers of other namespaces',
      { allowedNamespaces: { from: 'All' } },
      { allowedNamespaces: { from: 'Same' } },
      ['Calls from other namespaces are refused.'],
    ],
    [
      'all callers but some',
      { allowedNamespaces: { from: 'All' } },
      { allowedNamespaces: { from: 'Selector', names: ['team-b'] } },
      ['Calls from other namespaces than team-b are refused.'],
    ],
    [
      'a namespace that is taken away',
      { allowedNamespaces: { from: 'Selector', names: ['team-b', 'team-c'] } },
      { allowedNamespaces: { from: 'Selector', names: ['team-b'] } },
      ['Calls from team-c are refused.'],
    ],
    [
      'the last target that answers',
      {},
      { targets: [target('spare'), target('new')] },
      ['All targets in use are replaced. Calls fail if the new targets do not answer.'],
    ],
    [
      'a weight of 0 for the last target that answers',
      {},
      { targets: [target('main', { weight: 0 }), target('spare')] },
      ['All targets in use are replaced. Calls fail if the new targets do not answer.'],
    ],
  ])('%s', (_, before, after, said) => {
    expect(effects(before, after)).toEqual(said);
  });

  test.each<[string, Partial<ModelRoute['spec']>, Partial<ModelRoute['spec']>]>([
    ['a target that does not answer', {}, { targets: [target('main')] }],
    ['one more target', {}, { targets: [target('main'), target('spare'), target('new')] }],
    ['more callers', {}, { allowedNamespaces: { from: 'All' } }],
    ['a price', {}, { pricing: { inputPerMillion: '1' } }],
  ])('nothing of %s', (_, before, after) => {
    expect(effects(before, after)).toEqual([]);
  });
});

describe('an edit of a provider says', () => {
  const providerOf = (spec: Partial<Provider['spec']>, attachedRoutes = 2): Provider => ({
    metadata,
    spec: { type: 'OpenAICompatible', baseURL: 'https://a.example.com/v1', ...spec },
    status: { attachedRoutes },
  });
  const at = { baseURL: 'https://b.example.com/v1' };

  test('what its routes use from now on', () => {
    const after = providerOf({ ...at, auth: { type: 'ApiKey', keys: [{ name: 'main' }] } });
    expect(effectsOfProviderEdit(providerOf({}), after, formats)).toEqual([
      'Calls of 2 routes use the new address and credentials at once, and fail if the upstream refuses.',
    ]);
  });

  test('which routes lose it', () => {
    const before = providerOf({ allowedNamespaces: { from: 'All' } });
    expect(effectsOfProviderEdit(before, providerOf({}), formats)).toEqual([
      'Routes in other namespaces lose this provider. A model without another target refuses calls.',
    ]);
  });

  test('which dialect it no longer speaks', () => {
    const before = providerOf({ apis: ['ChatCompletions', 'Messages'] });
    const after = providerOf({ apis: ['ChatCompletions'] });
    expect(effectsOfProviderEdit(before, after, formats)).toEqual([
      'Messages: calls are translated to another dialect, or refused.',
    ]);
  });

  test('nothing of one that no route names', () => {
    expect(effectsOfProviderEdit(providerOf({}, 0), providerOf(at, 0), formats)).toEqual([]);
  });
});
