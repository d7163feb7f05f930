// In which line of a file does a field stand? A message names `spec.targets[1].name`; people look for a line.

import { type Document, isAlias, isMap, isNode, isScalar, isSeq, type Node } from 'yaml';

/** The first field path that a message names, such as `spec.targets[1].providerRef.name`. */
export function findFieldPath(message: string): string | undefined {
  return /\b(?:spec|metadata)(?:\.[\w-]+|\[[^\]\s]+\])+/.exec(message)?.[0];
}

/** Offset of the field, or of the deepest thing around it that is there. */
export function offsetOfField(document: Document, root: Node, fieldPath: string): number {
  let at: Node | undefined = root;
  let offset = startOf(root);
  for (const part of partsOf(fieldPath)) {
    const step: Step | undefined = stepInto(document, at, part);
    if (step === undefined) break;
    offset = step.offset;
    at = step.value;
  }
  return offset;
}

interface Step {
  readonly offset: number;
  readonly value: Node | undefined;
}

/** `spec.targets[1].name` as `spec`, `targets`, `1`, `name`. */
function partsOf(fieldPath: string): string[] {
  return fieldPath.split(/[.[\]]+/).filter((part) => part !== '');
}

function stepInto(document: Document, node: Node | undefined, part: string): Step | undefined {
  const inner = isAlias(node) ? node.resolve(document) : node;
  if (isMap(inner)) {
    const pair = inner.items.find(({ key }) => isScalar(key) && String(key.value) === part);
    if (pair === undefined || !isNode(pair.key)) return undefined;
    return { offset: startOf(pair.key), value: isNode(pair.value) ? pair.value : undefined };
  }
  if (!isSeq(inner)) return undefined;
  // Lists are spoken of by index, and by name where their entries have one: `spec.auth.keys[eu-1]`.
  const item = /^\d+$/.test(part)
    ? inner.items[Number(part)]
    : inner.items.find((entry) => isMap(entry) && entry.get('name') === part);
  return isNode(item) ? { offset: startOf(item), value: item } : undefined;
}

function startOf(node: Node): number {
  return node.range?.[0] ?? 0;
}
