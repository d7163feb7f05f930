// What an API server refuses is shown at its field, in a sentence without the path.

import { expect, test } from 'vitest';
import { problemAt, refusedFields } from '../../../dashboard/pages/parts/refused-fields.ts';
import { ApiError } from '../../../dashboard/pages/shell/api.ts';

const refusal = (...causes: readonly object[]) =>
  new ApiError(422, 'Invalid', 'is invalid', { kind: 'Status', details: { causes } });

test.each([
  [
    'spec.targets[0].weight',
    'Invalid value: 1001: spec.targets[0].weight in body should be less than or equal to 1000',
    'targets[0].weight',
    'Should be less than or equal to 1000.',
  ],
  [
    'spec.targets',
    'Invalid value: "array": at least one target needs a weight above 0',
    'targets',
    'At least one target needs a weight above 0.',
  ],
  [
    'spec.baseURL',
    'Invalid value: "http://a/..": must not contain "..": write the path',
    'baseURL',
    'Must not contain "..": write the path.',
  ],
  // As local mode writes it.
  ['metadata.name', 'Invalid value: must be a name', 'name', 'Must be a name.'],
])('%s', (field, message, path, sentence) => {
  expect(refusedFields(refusal({ field, message }))).toEqual({ [path]: sentence });
});

test('a refusal without fields, and a lost answer, name none', () => {
  expect(refusedFields(refusal())).toEqual({});
  expect(refusedFields(new ApiError(0, 'offline', 'nobody answers'))).toEqual({});
  expect(refusedFields(new Error('broken'))).toEqual({});
});

test('a field shows its own refusal, and not that of another field', () => {
  const problems = { 'targets[1].providerRef.name': 'a', 'targets[10].weight': 'b', pricing: 'c' };
  expect(problemAt(problems, 'targets[1].providerRef')).toBe('a');
  expect(problemAt(problems, 'targets[1].weight')).toBeUndefined();
  expect(problemAt(problems, 'pricing')).toBe('c');
  expect(problemAt(problems, 'pricing.perRequest')).toBeUndefined();
});
