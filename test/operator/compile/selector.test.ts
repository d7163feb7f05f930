// Which namespaces does a selector pick? As Kubernetes itself would.

import { expect, test } from 'vitest';
import { resolveNamespaces } from '../../../operator/compile/selector.ts';
import { namespace } from '../make.ts';

const NAMESPACES = [
  namespace('own', { stage: 'prod' }),
  namespace('prod', { stage: 'prod', tier: '1' }),
  namespace('test', { stage: 'test' }),
  namespace('bare'),
];
const expression = (
  key: string,
  operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist',
  values?: string[],
) => ({
  matchExpressions: [{ key, operator, ...(values === undefined ? {} : { values }) }],
});

test.each([
  ['nothing asked: all', {}, ['bare', 'prod', 'test']],
  ['a label', { matchLabels: { stage: 'prod' } }, ['prod']],
  ['two labels', { matchLabels: { stage: 'prod', tier: '2' } }, []],
  ['In', expression('stage', 'In', ['test', 'dev']), ['test']],
  ['In without values', expression('stage', 'In'), []],
  ['NotIn, also where the label is absent', expression('stage', 'NotIn', ['test']), ['bare', 'prod']],
  ['Exists', expression('tier', 'Exists'), ['prod']],
  ['DoesNotExist', expression('stage', 'DoesNotExist'), ['bare']],
  ['a name that every object has', expression('constructor', 'Exists'), []],
])('%s', (_, selector, expected) => {
  expect(resolveNamespaces({ from: 'Selector', selector }, 'own', NAMESPACES)).toEqual(expected);
});

test('names count beside the selector, before their namespaces exist, and without the own one', () => {
  const selector = { matchLabels: { stage: 'prod' } };
  const names = ['team-z', 'own', 'prod'];
  expect(resolveNamespaces({ from: 'Selector', selector, names }, 'own', NAMESPACES)).toEqual([
    'prod',
    'team-z',
  ]);
  expect(resolveNamespaces({ from: 'Selector', names }, 'own', NAMESPACES)).toEqual(['prod', 'team-z']);
});
