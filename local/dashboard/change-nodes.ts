// How is a YAML document changed to a new value? Only nodes with a different value are touched; all others keep their comments, their
// order and their quotes.

import { isDeepStrictEqual } from 'node:util';
import {
  type Document,
  isCollection,
  isMap,
  isNode,
  isScalar,
  isSeq,
  type Node,
  type YAMLMap,
  type YAMLSeq,
} from 'yaml';
import { isRecord } from '../../core/kube/object.ts';

/** @param path of the value in the document; empty: all of it. */
export function changeValue(
  document: Document,
  path: readonly (string | number)[],
  before: unknown,
  after: unknown,
): void {
  const node = path.length === 0 ? document.contents : document.getIn(path, true);
  const changed = changeNode(document, node, before, after);
  if (changed === node) return;
  if (path.length === 0) document.contents = changed as Document['contents'];
  else document.setIn(path, changed);
}

/** The node itself, changed, or one that takes its place. */
function changeNode(document: Document, node: unknown, before: unknown, after: unknown): unknown {
  if (isDeepStrictEqual(before, after)) return node;
  if (isMap(node) && isRecord(before) && isRecord(after) && Object.keys(after).length > 0) {
    changeMap(document, node, before, after);
    return node;
  }
  if (isSeq(node) && Array.isArray(before) && Array.isArray(after) && after.length > 0) {
    changeSeq(document, node, before, after);
    return node;
  }
  const isPlain = typeof after !== 'object' || after === null;
  if (!isScalar(node) || !isPlain) return replaceNode(document, node, after);
  // Source text and block style describe the old value: the writer would print them instead of the new one.
  if (typeof node.value !== typeof after) delete node.type;
  delete node.source;
  node.value = after;
  return node;
}

/** With the comments that stand beside it; those inside go. */
function replaceNode(document: Document, node: unknown, after: unknown): Node {
  const created = document.createNode(after);
  if (!isNode(node)) return created;
  const beside = isCollection(node) && !node.flow ? undefined : node.comment;
  const comment = [node.commentBefore, beside].filter(Boolean).join('\n') || null;
  const isFilled = isCollection(created) && created.items.length > 0;
  created[isFilled ? 'commentBefore' : 'comment'] = comment;
  // One without entries, with a comment and not said to be `[]`, is written as nothing that can be read.
  if (isCollection(created) && !isFilled) created.flow = true;
  return created;
}

type Fields = Readonly<Record<string, unknown>>;

function changeMap(document: Document, map: YAMLMap, before: Fields, after: Fields): void {
  map.items = map.items.filter(({ key }) => {
    const name = nameOf(key);
    return name === undefined || !Object.hasOwn(before, name) || Object.hasOwn(after, name);
  });
  for (const [name, value] of Object.entries(after)) {
    const was = before[name];
    if (Object.hasOwn(before, name) && isDeepStrictEqual(was, value)) continue;
    const pair = map.items.find(({ key }) => nameOf(key) === name);
    if (pair === undefined) map.add(document.createPair(name, value));
    else pair.value = changeNode(document, pair.value, was, value);
  }
}

/** As it is in the value: 8080 and true are names too. Undefined: it has none that could be meant. */
function nameOf(key: unknown): string | undefined {
  return isScalar(key) && key.value !== null ? String(key.value) : undefined;
}

/** Entries that are known by one of their fields, or are the same, keep their node wherever they come to stand; of others, the next that is left. */
function changeSeq(
  document: Document,
  seq: YAMLSeq,
  before: readonly unknown[],
  after: readonly unknown[],
): void {
  const left = new Set(before.keys());
  const take = (isMeant: (index: number) => boolean): number | undefined => {
    const found = [...left].find(isMeant);
    if (found !== undefined) left.delete(found);
    return found;
  };
  const known = after.map((value) => take((index) => identityOf(before[index]) === identityOf(value)));
  const nodes: readonly unknown[] = [...seq.items];
  seq.items = after.map((value, place) => {
    const index =
      known[place] ??
      (keyOf(value) !== undefined ? undefined : take((one) => keyOf(before[one]) === undefined));
    return index === undefined
      ? document.createNode(value)
      : (changeNode(document, nodes[index], before[index], value) as Node);
  });
}

/** The key of the entries of a list, as the CRDs say it (`x-kubernetes-list-map-keys`). */
export const listKeys = ['name', 'period', 'sha256', 'type', 'aboveInputTokens'] as const;

/** Undefined: one of a list whose entries have no such field. */
function keyOf(value: unknown): string | undefined {
  if (!isRecord(value)) return undefined;
  const field = listKeys.find((name) => value[name] !== undefined);
  return field === undefined ? undefined : `${field} ${String(value[field])}`;
}

function identityOf(value: unknown): string {
  return keyOf(value) ?? JSON.stringify(value);
}
