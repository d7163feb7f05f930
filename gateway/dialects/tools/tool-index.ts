// Which tool does a name mean? `functions` is the namespace of tools that have none: clients write
// it or leave it out, for one and the same tool.

import type { ToolName } from '../conversation.ts';

/** Known tools, by name and namespace. */
export class ToolIndex<Value> {
  private readonly exact = new Map<string, Value>();
  private readonly folded = new Map<string, Value>();

  /** The first definition counts. */
  add({ name, namespace }: ToolName, value: Value): void {
    const exact = keyOf(name, namespace);
    if (!this.exact.has(exact)) this.exact.set(exact, value);
    const folded = keyOf(name, foldNamespace(namespace));
    if (!this.folded.has(folded)) this.folded.set(folded, value);
  }

  /** Whether it was added in this very writing. */
  has({ name, namespace }: ToolName): boolean {
    return this.exact.has(keyOf(name, namespace));
  }

  /** Where both ways of writing were added, each has its own. */
  get({ name, namespace }: ToolName): Value | undefined {
    return this.exact.get(keyOf(name, namespace)) ?? this.folded.get(keyOf(name, foldNamespace(namespace)));
  }
}

export function foldNamespace(namespace: string | undefined): string | undefined {
  return namespace === 'functions' ? undefined : namespace;
}

function keyOf(name: string, namespace = ''): string {
  return `${namespace} ${name}`;
}
