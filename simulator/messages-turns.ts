// Are the turns of a messages conversation in an order that Anthropic accepts, and what do they say?

import type { Bag, Path } from './checks.ts';
import { BadRequest, bag, boolean, isAbsent, list, matching, oneOf, string } from './checks.ts';
import type { Seal } from './seal.ts';
import { countTokens } from './tokens.ts';

type Turns = {
  lastUserText: string;
  toolResult?: string;
  calledTools: Set<string>;
  hasToolBlocks: boolean;
  isPrefilled: boolean;
  tokens: number;
};

type Role = 'user' | 'assistant' | 'system';

type Block = { block: Bag; path: Path };

/** One turn after neighbours of the same role were merged, as the vendor does. */
type Turn = { role: Role; at: number; blocks: Block[] };

// Four tokens a message for its role and frame, beside its text.
const messageTokens = 4;
const imageTokens = 100;

/** Throws BadRequest. */
export function readTurns(messages: unknown[], seal: Seal): Turns {
  const turns = mergeTurns(messages);
  if (turns[0]?.role !== 'user') {
    throw new BadRequest(['messages', 0, 'role'], 'The first message must use the user role');
  }
  const read: Turns = {
    lastUserText: '',
    calledTools: new Set(),
    hasToolBlocks: false,
    isPrefilled: turns.at(-1)?.role === 'assistant',
    tokens: messages.length * messageTokens,
  };
  let openCalls: string[] = [];
  let callsAt = 0;
  for (const turn of turns) {
    if (openCalls.length > 0 && turn.role !== 'user') throw withoutResult(callsAt, openCalls);
    const results = readResults(turn, openCalls);
    const unanswered = openCalls.filter((id) => !results.has(id));
    if (unanswered.length > 0) throw withoutResult(callsAt, unanswered);
    openCalls = readTurn(turn, read, seal);
    callsAt = turn.at;
  }
  if (openCalls.length > 0) throw withoutResult(callsAt, openCalls);
  return read;
}

function withoutResult(at: number, ids: string[]): BadRequest {
  return new BadRequest(
    ['messages', at],
    `\`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${ids.join(', ')}. Each \`tool_use\` ` +
      'block must have a corresponding `tool_result` block in the next message.',
  );
}

function mergeTurns(messages: unknown[]): Turn[] {
  const turns: Turn[] = [];
  for (const [at, item] of messages.entries()) {
    const path: Path = ['messages', at];
    const message = bag(item, path);
    const role = oneOf(message.role, [...path, 'role'], ['user', 'assistant', 'system']);
    const isPrefill = role === 'assistant' && at === messages.length - 1;
    // A system message may be there for its settings alone.
    const mayBeEmpty = isPrefill || (role === 'system' && !isAbsent(message.output_config));
    const blocks = readBlocks(message.content, [...path, 'content'], role, mayBeEmpty);
    const before = turns.at(-1);
    if (before?.role === role) before.blocks.push(...blocks);
    else turns.push({ role, at, blocks });
  }
  return turns;
}

function readBlocks(content: unknown, path: Path, role: Role, mayBeEmpty: boolean): Block[] {
  const isEmpty = content === '' || (Array.isArray(content) && content.length === 0);
  if (isEmpty && !mayBeEmpty) {
    throw new BadRequest(path.slice(0, 2), `${role} messages must have non-empty content`);
  }
  if (typeof content === 'string') return [{ block: { type: 'text', text: content }, path }];
  return list(content, path).map((item, at) => ({ block: bag(item, [...path, at]), path: [...path, at] }));
}

const blockTypes: Record<Role, ReadonlySet<string>> = {
  user: new Set(['text', 'image', 'document', 'search_result', 'tool_result', 'container_upload']),
  assistant: new Set(['text', 'thinking', 'redacted_thinking', 'tool_use', 'server_tool_use', 'document']),
  system: new Set(['text', 'tool_addition', 'tool_removal']),
};

// The tool_result blocks of a turn answer the turn before, all of them, before anything else is said.
function readResults(turn: Turn, openCalls: string[]): Set<string> {
  const results = new Set<string>();
  let hasOther = false;
  for (const { block, path } of turn.blocks) {
    if (block.type !== 'tool_result') {
      hasOther = true;
      continue;
    }
    const id = matching(block.tool_use_id, [...path, 'tool_use_id'], idPattern);
    if (!openCalls.includes(id)) {
      throw new BadRequest(
        path,
        `unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${id}. Each \`tool_result\` block must have a ` +
          'corresponding `tool_use` block in the previous message.',
      );
    }
    if (results.has(id))
      throw new BadRequest(
        path,
        `each tool_use must have a single result. Found multiple \`tool_result\` blocks with id: ${id}`,
      );
    if (hasOther)
      throw new BadRequest(path, '`tool_result` blocks must come first in the content of a message');
    results.add(id);
  }
  return results;
}

const idPattern = /^[a-zA-Z0-9_-]+$/;

// Answers the ids of the tool calls that now wait for a result.
function readTurn(turn: Turn, read: Turns, seal: Seal): string[] {
  const calls: string[] = [];
  const texts: string[] = [];
  for (const { block, path } of turn.blocks) {
    const type = string(block.type, [...path, 'type']);
    const isServerResult = turn.role === 'assistant' && type.endsWith('_tool_result');
    if (!blockTypes[turn.role].has(type) && !isServerResult) {
      const allowed = [...blockTypes[turn.role]].map((name) => `'${name}'`).join(', ');
      throw new BadRequest(
        path,
        `Input tag '${type}' found using 'type' does not match any of the expected tags for role ${turn.role}: ${allowed}`,
      );
    }
    switch (type) {
      case 'text':
        texts.push(readText(block, path));
        break;
      case 'tool_use':
        calls.push(readCall(block, path, read, calls));
        break;
      case 'tool_result':
        read.toolResult = readResult(block, path, read);
        read.hasToolBlocks = true;
        break;
      case 'thinking':
        checkThinking(block, path, seal);
        read.tokens += countTokens(string(block.thinking, [...path, 'thinking']));
        break;
      case 'redacted_thinking':
        if (!seal.isOwn(string(block.data, [...path, 'data'])))
          throw new BadRequest(path, 'Invalid data in redacted_thinking block');
        break;
      case 'image':
        checkImage(block, path);
        read.tokens += imageTokens;
        break;
      default:
        read.tokens += imageTokens;
    }
  }
  const text = texts.join('\n');
  read.tokens += countTokens(text);
  if (turn.role === 'user' && texts.length > 0) read.lastUserText = text;
  return calls;
}

function readText(block: Bag, path: Path): string {
  const text = string(block.text, [...path, 'text']);
  if (text === '') throw new BadRequest([], 'messages: text content blocks must be non-empty');
  if (text.trim() === '')
    throw new BadRequest([], 'messages: text content blocks must contain non-whitespace text');
  return text;
}

function readCall(block: Bag, path: Path, read: Turns, before: string[]): string {
  const id = matching(block.id, [...path, 'tool_use', 'id'], idPattern);
  if (before.includes(id)) throw new BadRequest(path, '`tool_use` ids must be unique');
  const name = matching(block.name, [...path, 'tool_use', 'name'], /^[a-zA-Z0-9_-]{1,128}$/);
  const input = bag(block.input, [...path, 'tool_use', 'input']);
  read.tokens += countTokens(name) + countTokens(JSON.stringify(input));
  read.hasToolBlocks = true;
  read.calledTools.add(name);
  return id;
}

function readResult(block: Bag, path: Path, read: Turns): string {
  boolean(block.is_error, [...path, 'is_error']);
  const { content } = block;
  if (isAbsent(content)) return '';
  const texts =
    typeof content === 'string' ? [content] : readResultBlocks(content, [...path, 'content'], read);
  const text = texts.join('\n');
  read.tokens += countTokens(text);
  return text;
}

function readResultBlocks(content: unknown, path: Path, read: Turns): string[] {
  const texts: string[] = [];
  for (const [at, item] of list(content, path).entries()) {
    const inner = bag(item, [...path, at]);
    const type = oneOf(
      inner.type,
      [...path, at, 'type'],
      ['text', 'image', 'document', 'search_result', 'tool_reference'],
    );
    if (type === 'text') texts.push(readText(inner, [...path, at]));
    else read.tokens += imageTokens;
    if (type === 'image') checkImage(inner, [...path, at]);
  }
  return texts;
}

function checkThinking(block: Bag, path: Path, seal: Seal): void {
  const thinking = string(block.thinking, [...path, 'thinking']);
  const signature = string(block.signature, [...path, 'signature']);
  if (!seal.fits(signature, thinking)) throw new BadRequest(path, 'Invalid signature in thinking block');
}

function checkImage(block: Bag, path: Path): void {
  const source = bag(block.source, [...path, 'source']);
  const type = oneOf(source.type, [...path, 'source', 'type'], ['base64', 'url', 'file']);
  if (type === 'base64') {
    const mediaTypes = ['image/jpeg', 'image/png', 'image/gif', 'image/webp'] as const;
    oneOf(source.media_type, [...path, 'source', 'media_type'], mediaTypes);
    string(source.data, [...path, 'source', 'data']);
  } else if (type === 'url') string(source.url, [...path, 'source', 'url']);
  else string(source.file_id, [...path, 'source', 'file_id']);
}
