// Is a list that is followed as new as what was heard of it, whichever comes first?

import { expect, test } from 'vitest';
import { heardSince, mergeHeard, newer } from '../../../dashboard/pages/shell/live-list.ts';

const of = (name: string, resourceVersion: string) => ({
  metadata: { namespace: 'a', name, resourceVersion },
  spec: {},
});
const heard = (...changes: [ReturnType<typeof of>, boolean?][]) =>
  new Map(changes.map(([object, isDeleted = false]) => [`a/${object.metadata.name}`, { object, isDeleted }]));
const namesOf = (list: readonly { metadata: { name: string; resourceVersion: string } }[]) =>
  list.map(({ metadata }) => `${metadata.name}@${metadata.resourceVersion}`);

test('events during a list request survive an older list', () => {
  const since = heardSince(heard([of('x', '12')], [of('y', '9')]), '10');
  expect(namesOf(mergeHeard([of('x', '8')], since))).toEqual(['x@12']);
});

test('an event that the list already contains has no effect', () => {
  expect(namesOf(mergeHeard([of('x', '15')], heard([of('x', '12')])))).toEqual(['x@15']);
  expect(heardSince(heard([of('x', '12')]), undefined).size).toBe(0);
});

test('a deleted object leaves, unless it was created again', () => {
  expect(mergeHeard([of('x', '8')], heard([of('x', '12'), true]))).toEqual([]);
  expect(namesOf(mergeHeard([of('x', '13')], heard([of('x', '12'), true])))).toEqual(['x@13']);
});

test('a new object is sorted in', () => {
  expect(namesOf(mergeHeard([of('c', '1'), of('a', '1')], heard([of('b', '2')])))).toEqual([
    'a@1',
    'b@2',
    'c@1',
  ]);
});

test('of two versions of an object the newer is shown', () => {
  expect(newer(of('x', '9'), of('x', '10'))).toEqual(of('x', '10'));
  expect(newer(of('x', '10'), of('x', '9'))).toEqual(of('x', '10'));
  expect(newer(undefined, of('x', '1'))).toEqual(of('x', '1'));
});
