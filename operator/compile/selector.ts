// Which namespaces does a consent name? `allowedNamespaces` against the labels of the namespaces there are.

import type { AllowedNamespaces, LabelSelector } from '../resources/fields.ts';
import type { NamespaceRecord } from '../watch/snapshot.ts';
import { compareText } from './order.ts';

/** Namespaces in addition to its own; `*` means all, later ones included. */
export type SharedWith = '*' | string[];

export function resolveNamespaces(
  allowed: AllowedNamespaces,
  own: string,
  namespaces: readonly NamespaceRecord[],
): SharedWith {
  switch (allowed.from) {
    case 'Same':
      return [];
    case 'All':
      return '*';
    case 'Selector': {
      const { selector, names = [] } = allowed;
      const picked =
        selector === undefined ? [] : namespaces.filter(({ labels }) => matches(selector, labels));
      const all = new Set([...names, ...picked.map(({ name }) => name)]);
      all.delete(own);
      return [...all].sort(compareText);
    }
  }
}

export function isShared(sharedWith: SharedWith, namespace: string): boolean {
  return sharedWith === '*' || sharedWith.includes(namespace);
}

/** What both allow. */
export function narrowed(sharedWith: SharedWith, by: SharedWith): SharedWith {
  if (by === '*') return sharedWith;
  if (sharedWith === '*') return by;
  return sharedWith.filter((namespace) => by.includes(namespace));
}

/** Label selector semantics of Kubernetes: all requirements hold; NotIn also holds where the label is absent. */
export function matches(selector: LabelSelector, labels: Readonly<Record<string, string>>): boolean {
  return (
    Object.entries(selector.matchLabels ?? {}).every(([key, value]) => labels[key] === value) &&
    (selector.matchExpressions ?? []).every((requirement) => meets(requirement, labels))
  );
}

type Requirement = NonNullable<LabelSelector['matchExpressions']>[number];

function meets(
  { key, operator, values = [] }: Requirement,
  labels: Readonly<Record<string, string>>,
): boolean {
  const value = Object.hasOwn(labels, key) ? labels[key] : undefined;
  switch (operator) {
    case 'In':
      return value !== undefined && values.includes(value);
    case 'NotIn':
      return value === undefined || !values.includes(value);
    case 'Exists':
      return value !== undefined;
    case 'DoesNotExist':
      return value === undefined;
  }
}
