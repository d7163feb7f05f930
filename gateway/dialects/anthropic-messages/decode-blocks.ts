// What do the content blocks of a message say, in our own form?

import { isRecord, type JsonRecord } from '../../json/record.ts';
import { textOfObject } from '../../json/sources.ts';
import type { Part } from '../conversation.ts';
import { invalidParameter } from '../request/parameter-rules.ts';
import {
  type NoteAsk,
  readCacheHint,
  readFlag,
  readName,
  readRecord,
  readText,
} from '../request/read-values.ts';
import { unpackCallId } from '../state/call-state.ts';
import { type DecodeInner, decodeDocument, decodeImage, decodeSearchResult } from './decode-media.ts';
import { decodeRedacted, decodeThinking } from './decode-thinking.ts';

/** Where a block occurs; each place allows different block types. */
type Place = 'system' | 'user' | 'assistant' | 'tool_result';

type DecodeBlock = (
  block: JsonRecord,
  path: string,
  note: NoteAsk,
  decodeInner: DecodeInner,
) => readonly Part[];

/** @throws {GatewayError} `invalid_parameter`, naming the block or its member. */
export function decodeContent(content: unknown, place: Place, path: string, note: NoteAsk): readonly Part[] {
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content }];
  if (!Array.isArray(content)) return invalidParameter(path, 'must be a string or a list of blocks');
  return content.flatMap((entry, index) => decodeBlock(entry, place, `${path}[${index}]`, note));
}

function decodeBlock(entry: unknown, place: Place, path: string, note: NoteAsk): readonly Part[] {
  const block = readRecord(entry, path);
  const type = readText(block.type, `${path}.type`);
  const decode = Object.hasOwn(blocksOf[place], type) ? blocksOf[place][type] : undefined;
  if (decode) {
    const parts = decode(block, path, note, decodeInner);
    return withCacheHint(parts, block, path, note);
  }
  if (place !== 'system' && isHosted(type)) {
    note('hosted-history', path);
    return [];
  }
  const known = Object.keys(blocksOf[place]).join(', ');
  return invalidParameter(
    `${path}.type`,
    `must be one of ${known} here, not ${JSON.stringify(type.slice(0, 64))}`,
  );
}

const decodeInner: DecodeInner = (content, path, note) => decodeContent(content, 'tool_result', path, note);

/** The hint marks the end of the block: the last of its parts. */
function withCacheHint(
  parts: readonly Part[],
  block: JsonRecord,
  path: string,
  note: NoteAsk,
): readonly Part[] {
  const hint = readCacheHint(block, path, note);
  const last = parts.at(-1);
  return hint.cacheHint && last ? [...parts.slice(0, -1), { ...last, ...hint }] : parts;
}

const decodeText: DecodeBlock = (block, path, note) => {
  const text = readText(block.text, `${path}.text`);
  const { citations } = block;
  if (Array.isArray(citations) && citations.length > 0) note('citations', `${path}.citations`);
  return text === '' ? [] : [{ type: 'text', text }];
};

const decodeToolUse: DecodeBlock = (block, path, note) => {
  note('tools', path);
  const { input } = block;
  if (!isRecord(input)) invalidParameter(`${path}.input`, 'is required and must be an object');
  const { id, opaque } = unpackCallId(readName(block.id, `${path}.id`));
  return [
    ...(opaque ? [{ type: 'thinking', text: '', opaque } as const] : []),
    {
      type: 'tool-call',
      id,
      name: readName(block.name, `${path}.name`),
      kind: 'function',
      input: textOfObject(input),
    },
  ];
};

const decodeToolResult: DecodeBlock = (block, path, note, decodeInner) => {
  note('tools', path);
  const { id } = unpackCallId(readName(block.tool_use_id, `${path}.tool_use_id`));
  const isError = readFlag(block.is_error, `${path}.is_error`);
  if (isError) note('tool-error', `${path}.is_error`);
  const { content } = block;
  const isEmpty = content === undefined || content === null;
  const parts = isEmpty ? [] : decodeInner(content, `${path}.content`, note);
  if (parts.some(({ type }) => type === 'image' || type === 'file')) note('tool-result-media', path);
  return [{ type: 'tool-result', id, parts, ...(isError ? { isError } : {}) }];
};

/** A tool that a search has found; all tools are sent anyway, so its name is enough. */
const decodeToolReference: DecodeBlock = (block, path, note) => {
  note('tool-search', path);
  return [{ type: 'text', text: readText(block.tool_name, `${path}.tool_name`) }];
};

/** Tools that come and go in the middle of a conversation. */
const dropToolChange: DecodeBlock = (_, path, note) => {
  note('vendor-member', path);
  return [];
};

const dropCompaction: DecodeBlock = (_, path, note) => {
  note('compaction', path);
  return [];
};

const blocksOf: Readonly<Record<Place, Readonly<Record<string, DecodeBlock>>>> = {
  system: { text: decodeText, tool_addition: dropToolChange, tool_removal: dropToolChange },
  user: {
    text: decodeText,
    image: decodeImage,
    document: decodeDocument,
    search_result: decodeSearchResult,
    tool_result: decodeToolResult,
  },
  assistant: {
    text: decodeText,
    document: decodeDocument,
    thinking: decodeThinking,
    redacted_thinking: decodeRedacted,
    tool_use: decodeToolUse,
    compaction: dropCompaction,
  },
  tool_result: {
    text: decodeText,
    image: decodeImage,
    document: decodeDocument,
    search_result: decodeSearchResult,
    tool_reference: decodeToolReference,
  },
};

const hostedTypes = new Set(['server_tool_use', 'mcp_tool_use', 'container_upload', 'fallback']);

/** Blocks of the provider's own tools: new kinds appear, and only that provider can read them. */
function isHosted(type: string): boolean {
  return hostedTypes.has(type) || type.endsWith('_tool_result');
}
