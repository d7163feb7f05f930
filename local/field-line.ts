// In which line of a file does a field stand? A message names `spec.targets[1].name`; people look for a line.

import {
  type Document,
  isAlias,
  isMap,
  isNode,
  isScalar,
  isSeq,
  type Node,
  type Pair,
  type YAMLMap,
} from 'yaml';

/** The field paths that a message names, such as `spec.targets[1].providerRef.name`. */
export function findFieldPaths(message: string): string[] {
  return message.match(/\b(?:spec|metadata)(?:\.[\w-]+|\[[^\]\s]+\])+/g) ?? [];
}

/**
 * Offset of the first of the fields that is there: where one is missing and one is misspelt, that is the
 * misspelt one. Without any, of the deepest thing around the first.
 */
export function offsetOfField(document: Document, root: Node, fieldPaths: readonly string[]): number {
  const found = fieldPaths.map((path) => follow(document, root, partsOf(path)));
  return (found.find(({ isWhole }) => isWhole) ?? found[0])?.offset ?? startOf(root);
}

interface Found {
  readonly offset: number;
  /** False where the path leads further than the document. */
  readonly isWhole: boolean;
}

/** `spec.targets[1].name` as `spec`, `targets`, `1`, `name`. */
function partsOf(fieldPath: string): string[] {
  return fieldPath.split(/[.[\]]+/).filter((part) => part !== '');
}

function follow(document: Document, root: Node, parts: readonly string[]): Found {
  let offset = startOf(root);
  let node: Node | undefined = root;
  for (let left = parts; left.length > 0; ) {
    const step: Step | undefined = stepInto(isAlias(node) ? node.resolve(document) : node, left);
    if (step === undefined) return { offset, isWhole: false };
    ({ offset, node } = step);
    left = left.slice(step.parts);
  }
  return { offset, isWhole: true };
}

interface Step {
  readonly offset: number;
  readonly node: Node | undefined;
  /** How many parts of the path it took. */
  readonly parts: number;
}

function stepInto(node: Node | undefined, parts: readonly string[]): Step | undefined {
  if (isMap(node)) {
    const pairs = pairsByName(node);
    // Names of labels have dots in them, so one name may be several parts.
    for (let taken = 1; taken <= parts.length; taken += 1) {
      const { key, value } = pairs.get(parts.slice(0, taken).join('.')) ?? {};
      if (isNode(key)) return { offset: startOf(key), node: isNode(value) ? value : undefined, parts: taken };
    }
    return undefined;
  }
  if (!isSeq(node)) return undefined;
  const [part = ''] = parts;
  // Lists are spoken of by index, and by name where their entries have one: `spec.auth.keys[eu-1]`.
  const item = /^\d+$/.test(part)
    ? node.items[Number(part)]
    : node.items.find((entry) => isMap(entry) && entry.get('name') === part);
  return isNode(item) ? { offset: startOf(item), node: item, parts: 1 } : undefined;
}

const namesOfMaps = new WeakMap<YAMLMap, ReadonlyMap<string, Pair>>();

/** Kept: a map with a thousand faults is asked a thousand times. */
function pairsByName(map: YAMLMap): ReadonlyMap<string, Pair> {
  const known = namesOfMaps.get(map);
  if (known !== undefined) return known;
  const pairs = new Map(map.items.map((pair) => [isScalar(pair.key) ? String(pair.key.value) : '', pair]));
  namesOfMaps.set(map, pairs);
  return pairs;
}

function startOf(node: Node): number {
  return node.range?.[0] ?? 0;
}
