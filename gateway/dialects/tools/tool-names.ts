// What does an upstream call a tool that the client knows by another name, and the way back? Names
// that do not fit are changed the same way every time, so that prompt caches stay warm.

import { hash } from 'node:crypto';
import type { Conversation, Tool, ToolName } from '../conversation.ts';
import { foldNamespace, ToolIndex } from './tool-index.ts';

export interface ToolNameRules {
  readonly lengthMax: number;
  /** Tools can stand in namespaces; else namespace and name are joined. */
  readonly hasNamespaces: boolean;
  /** Tools can take free text; else they take one string member, `input`. */
  readonly hasCustom: boolean;
  /** A name begins with a letter or an underscore. */
  readonly letterFirst?: boolean;
}

/** The tool an upstream means by a name. */
export interface NamedTool extends ToolName {
  readonly kind: Tool['kind'];
  /** Its input comes as `{"input": "…"}` and is meant as the text in it. */
  readonly isWrapped: boolean;
}

export interface ToolNames {
  /** What the upstream knows the tool by. */
  wireName(tool: ToolName): string;
  /** The way back. An unknown name comes back unchanged, as a function. */
  toolOf(wireName: string, wireNamespace?: string): NamedTool;
}

export function nameTools({ tools, turns }: Conversation, rules: ToolNameRules): ToolNames {
  const wireNames = new ToolIndex<string>();
  const known = new Map<string, NamedTool>();
  const rounds = new Map<string, number>();
  // Tools whose plain names are alike go on where the one before them ended: a round costs as much as the name is long.
  const nextRound = (plainKey: string): number => {
    const round = rounds.get(plainKey) ?? 0;
    rounds.set(plainKey, round + 1);
    return round;
  };
  const add = (tool: Pick<Tool, 'name' | 'namespace' | 'kind'>): void => {
    const plain = plainName(tool, rules);
    const wireName = fitName(plain, rules, {
      isTaken: (name) => known.has(keyOf(name, tool.namespace, rules)),
      nextRound: () => nextRound(keyOf(plain, tool.namespace, rules)),
    });
    wireNames.add(tool, wireName);
    known.set(keyOf(wireName, tool.namespace, rules), {
      name: tool.name,
      ...(tool.namespace === undefined ? {} : { namespace: tool.namespace }),
      kind: tool.kind,
      isWrapped: tool.kind === 'custom' && !rules.hasCustom,
    });
  };
  for (const tool of tools) if (!wireNames.has(tool)) add(tool);
  // A tool that is offered is known in that form, however it was called.
  for (const { parts } of turns) {
    for (const part of parts) {
      if (part.type === 'tool-call' && wireNames.get(part) === undefined) add(part);
    }
  }
  return {
    wireName: (tool) => wireNames.get(tool) ?? fitName(plainName(tool, rules), rules, alone),
    toolOf: (wireName, wireNamespace) =>
      known.get(keyOf(wireName, wireNamespace, rules)) ??
      known.get(keyOf(wireName, otherWriting(wireNamespace), rules)) ??
      (wireNamespace === undefined
        ? { name: wireName, kind: 'function', isWrapped: false }
        : { name: wireName, namespace: wireNamespace, kind: 'function', isWrapped: false }),
  };
}

function plainName({ name, namespace }: ToolName, { hasNamespaces }: ToolNameRules): string {
  return hasNamespaces || foldNamespace(namespace) === undefined ? name : `${namespace}__${name}`;
}

/** The namespace that means the same. */
function otherWriting(namespace: string | undefined): string | undefined {
  return namespace === undefined ? 'functions' : foldNamespace(namespace);
}

function keyOf(wireName: string, namespace: string | undefined, { hasNamespaces }: ToolNameRules): string {
  return `${hasNamespaces ? (namespace ?? '') : ''} ${wireName}`;
}

interface OtherNames {
  isTaken(name: string): boolean;
  nextRound(): number;
}

const alone: OtherNames = { isTaken: () => false, nextRound: () => 0 };

/** Eight hex digits of the whole name follow the part that is kept. */
function fitName(
  name: string,
  { lengthMax, letterFirst }: ToolNameRules,
  { isTaken, nextRound }: OtherNames,
): string {
  const known = name.replace(/[^A-Za-z0-9_-]/g, '_');
  const clean = letterFirst && /^[0-9-]/.test(known) ? `_${known}` : known;
  if (clean === name && name.length <= lengthMax && name !== '' && !isTaken(name)) return name;
  for (;;) {
    const mark = hash('sha256', `${nextRound()} ${name}`, 'hex').slice(0, 8);
    const fitted = `${clean.slice(0, lengthMax - 9)}_${mark}`;
    if (!isTaken(fitted)) return fitted;
  }
}
