// Are the input items of a responses call in an order that OpenAI accepts, and what do they say?

import type { Bag, Path } from './checks.ts';
import { BadRequest, bag, filledString, isAbsent, list, matching, missing, oneOf, string } from './checks.ts';
import type { ReadContext } from './dialect.ts';
import { countTokens } from './tokens.ts';

type Items = {
  lastUserText: string;
  toolResult?: string;
  calledTools: Set<string>;
  /** Tools that came as input items. */
  tools: { tools: unknown[]; path: Path }[];
  isCompaction: boolean;
  tokens: number;
};

// Four tokens an item for its role and frame, beside its text.
const itemTokens = 4;
const imageTokens = 100;

/** Objects that the items may refer to. */
type Known = Pick<ReadContext, 'seal' | 'stored'>;

/** The input as a list of items. */
export function inputItems(input: unknown): unknown[] {
  if (isAbsent(input)) throw missing(['input']);
  if (typeof input === 'string') return [{ role: 'user', content: input }];
  return list(input, ['input'], { min: 1 });
}

/**
 * Throws BadRequest.
 *
 * @param earlier Items of the response that this request follows.
 */
export function readItems(own: unknown[], earlier: unknown[], known: Known): Items {
  const items: Items = {
    lastUserText: '',
    calledTools: new Set(),
    tools: [],
    isCompaction: false,
    tokens: 0,
  };
  const open: Calls = new Map();
  for (const [at, value] of [...earlier, ...own].entries()) {
    const path: Path = ['input', at - earlier.length];
    readItem(bag(value, path), path, items, open, known);
  }
  const [unanswered] = open.keys();
  if (unanswered !== undefined) {
    const what = open.get(unanswered) === 'custom' ? 'custom tool call' : 'function call';
    throw new BadRequest(['input'], `No tool output found for ${what} ${unanswered}.`, 'invalid_value', {
      isWhole: true,
    });
  }
  return items;
}

/** The calls that wait for their output, by call_id. */
type Calls = Map<string, 'function' | 'custom'>;

function readItem(item: Bag, path: Path, items: Items, open: Calls, known: Known): void {
  items.tokens += itemTokens;
  const type = isAbsent(item.type) ? 'message' : string(item.type, [...path, 'type']);
  checkItemId(item, type, path);
  switch (type) {
    case 'message':
      readMessage(item, path, items);
      break;
    case 'function_call':
      readCall(item, path, items, open, 'function');
      break;
    case 'custom_tool_call':
      readCall(item, path, items, open, 'custom');
      break;
    case 'function_call_output':
      readOutput(item, path, items, open, 'function');
      break;
    case 'custom_tool_call_output':
      readOutput(item, path, items, open, 'custom');
      break;
    case 'reasoning':
      checkReasoning(item, path, known);
      break;
    case 'compaction':
      checkSealed(item, path, known);
      break;
    case 'compaction_trigger':
      items.isCompaction = true;
      break;
    case 'additional_tools':
      items.tools.push({ tools: list(item.tools, [...path, 'tools']), path: [...path, 'tools'] });
      break;
    case 'item_reference':
      readReference(string(item.id, [...path, 'id']), path, items, open, known);
      break;
    default:
      if (!hostedItems.test(type))
        throw new BadRequest([...path, 'type'], `'${type}' is not an input item type`);
  }
}

function readReference(id: string, path: Path, items: Items, open: Calls, known: Known): void {
  const item = known.stored.findItem(id);
  if (item === undefined) throw notFound(id, path);
  readItem(item, path, items, open, known);
}

const hostedItems =
  /^(tool_search_(call|output)|(web_search|file_search|code_interpreter|image_generation)_call|(computer|local_shell|shell|apply_patch)_call(_output)?|mcp_\w+|program(_output)?|configuration_update|agent_message)$/;

// An id of another kind of item, or of another vendor, names nothing here; own ids say what they name.
function checkItemId(item: Bag, type: string, path: Path): void {
  const prefix = Object.hasOwn(idPrefixes, type) ? idPrefixes[type] : undefined;
  if (prefix === undefined || isAbsent(item.id)) return;
  const id = string(item.id, [...path, 'id']);
  if (id.startsWith(prefix)) return;
  throw new BadRequest([...path, 'id'], `Expected an ID that begins with '${prefix}', got '${id}'`);
}

const idPrefixes: Record<string, string> = {
  message: 'msg',
  reasoning: 'rs',
  function_call: 'fc',
  custom_tool_call: 'ctc',
  function_call_output: 'fc',
  custom_tool_call_output: 'ctc',
};

// OpenAI refuses longer call ids, its own and those of others.
const callIdPattern = /^.{1,64}$/;

function readMessage(item: Bag, path: Path, items: Items): void {
  const role = oneOf(item.role, [...path, 'role'], ['user', 'assistant', 'system', 'developer']);
  const { content } = item;
  const text =
    typeof content === 'string' ? content : readParts(content, [...path, 'content'], partTypes[role], items);
  items.tokens += countTokens(text);
  if (role === 'user') items.lastUserText = text;
}

const inputParts = ['input_text', 'input_image', 'input_file', 'input_audio'] as const;

const partTypes = {
  user: inputParts,
  system: inputParts,
  developer: inputParts,
  assistant: ['output_text', 'refusal'],
} as const;

function readParts(content: unknown, path: Path, types: readonly string[], items: Items): string {
  const texts: string[] = [];
  for (const [at, value] of list(content, path).entries()) {
    const here: Path = [...path, at];
    const part = bag(value, here);
    const type = oneOf(part.type, [...here, 'type'], types);
    if (type === 'refusal') texts.push(string(part.refusal, [...here, 'refusal']));
    else if (type.endsWith('_text')) texts.push(string(part.text, [...here, 'text']));
    else {
      items.tokens += imageTokens;
      checkAttachment(type, part, here);
    }
  }
  return texts.join('\n');
}

function checkAttachment(type: string, part: Bag, path: Path): void {
  const sources: Record<string, string[]> = {
    input_image: ['image_url', 'file_id'],
    input_file: ['file_data', 'file_id', 'file_url'],
    input_audio: ['input_audio'],
  };
  const names = sources[type] ?? [];
  if (names.every((name) => isAbsent(part[name])))
    throw new BadRequest(path, `needs one of ${names.join(', ')}`);
  if (type === 'input_image' && !isAbsent(part.image_url)) string(part.image_url, [...path, 'image_url']);
}

function readCall(item: Bag, path: Path, items: Items, open: Calls, kind: 'function' | 'custom'): void {
  const id = matching(item.call_id, [...path, 'call_id'], callIdPattern);
  const name = filledString(item.name, [...path, 'name']);
  const argument = kind === 'function' ? 'arguments' : 'input';
  items.tokens += countTokens(name) + countTokens(string(item[argument], [...path, argument]));
  items.calledTools.add(name);
  open.set(id, kind);
}

function readOutput(item: Bag, path: Path, items: Items, open: Calls, kind: 'function' | 'custom'): void {
  const id = matching(item.call_id, [...path, 'call_id'], callIdPattern);
  if (open.get(id) !== kind) {
    const what = kind === 'function' ? 'function call' : 'custom tool call';
    throw new BadRequest(
      ['input'],
      `No tool call found for ${what} output with call_id ${id}.`,
      'invalid_value',
      {
        isWhole: true,
      },
    );
  }
  open.delete(id);
  const { output } = item;
  if (output === undefined) throw missing([...path, 'output']);
  const text =
    typeof output === 'string' ? output : readParts(output, [...path, 'output'], inputParts, items);
  items.tokens += countTokens(text);
  items.toolResult = text;
}

function checkReasoning(item: Bag, path: Path, known: Known): void {
  for (const [at, value] of list(item.summary, [...path, 'summary']).entries()) {
    const part = bag(value, [...path, 'summary', at]);
    oneOf(part.type, [...path, 'summary', at, 'type'], ['summary_text']);
    string(part.text, [...path, 'summary', at, 'text']);
  }
  // Without its state the item has to be stored here.
  if (!isAbsent(item.encrypted_content)) checkSealed(item, path, known);
  else if (known.stored.findItem(String(item.id)) === undefined) throw notFound(String(item.id ?? ''), path);
}

function checkSealed(item: Bag, path: Path, { seal }: Known): void {
  if (seal.isOwn(string(item.encrypted_content, [...path, 'encrypted_content']))) return;
  throw new BadRequest(
    path,
    `The encrypted content for item ${String(item.id ?? '')} could not be verified. Reason: Encrypted content could not ` +
      'be decrypted or parsed.',
    'invalid_encrypted_content',
    { isWhole: true },
  );
}

function notFound(id: string, path: Path): BadRequest {
  return new BadRequest(
    path,
    `Item with id '${id}' not found. Items are not persisted when \`store\` is set to false.`,
    'item_not_found',
    { isWhole: true },
  );
}
