// Are the contents of a request in an order that Gemini accepts, and what do they say? Calls and results in pairs, signatures and ids as the
// model wants them.

import type { Bag, Path } from '../checks.ts';
import { BadRequest, bag, filledString, isBag, list, oneOf, string } from '../checks.ts';
import type { Seal } from '../seal.ts';
import { countTokens } from '../tokens.ts';
import { unknownName } from './gemini-members.ts';

export type CallRules = {
  /** Of the first call of each turn. */
  needsSignatures: boolean;
  /** `given`: calls come with one, and are refused without; `taken`: they come with one, and may go without; `refused`: the member is not known. */
  ids: 'given' | 'taken' | 'refused';
  /** Whether a result may hold media. */
  takesResultMedia: boolean;
  /** Whether an address on the web may stand for a file. */
  takesAddresses: boolean;
  seal: Seal;
};

type Contents = {
  lastUserText: string;
  toolResult?: string;
  calledTools: Set<string>;
  tokens: number;
};

const skipSignature = 'skip_thought_signature_validator';
const mediaTokens = 100;
const mediaTypes =
  /^(image\/(png|jpeg|webp|heic|heif)|application\/pdf|text\/plain|audio\/(wav|mp3|aiff|aac|ogg|flac)|video\/\w+)$/;

/** Throws BadRequest. */
export function readContents(contents: unknown, rules: CallRules): Contents {
  const read: Contents = { lastUserText: '', calledTools: new Set(), tokens: 0 };
  let open: Bag[] = [];
  let before: string | undefined;
  for (const [at, item] of list(contents, ['contents'], { min: 1 }).entries()) {
    const path: Path = ['contents', at];
    const content = bag(item, path);
    const role = oneOf(content.role, [...path, 'role'], ['user', 'model']);
    const parts = list(content.parts, [...path, 'parts'], { min: 1 }).map((part) => bag(part, path));
    if (at === 0 && role !== 'user')
      throw invalid(path, 'Please ensure that multiturn requests begin with a user turn.');
    if (role === before)
      throw invalid(path, 'Please ensure that multiturn requests alternate between user and model.');
    const results = parts.filter(({ functionResponse }) => functionResponse !== undefined);
    if (results.length !== open.length) throw invalid(path, pairMessage);
    for (const [index, part] of parts.entries()) readPart(part, role, [...path, 'parts', index], read, rules);
    checkResults(results, open, path, rules);
    open = parts.filter(({ functionCall }) => functionCall !== undefined);
    checkCalls(open, path, rules);
    const texts = parts.flatMap(({ text, thought }) =>
      typeof text === 'string' && thought !== true ? [text] : [],
    );
    if (role === 'user' && texts.length > 0) read.lastUserText = texts.join('\n');
    before = role;
  }
  if (open.length > 0) throw invalid(['contents'], pairMessage);
  if (before === 'model') throw invalid(['contents'], 'Please ensure that the last turn is of the user.');
  return read;
}

const pairMessage =
  'Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.';

function readPart(part: Bag, role: string, path: Path, read: Contents, rules: CallRules): void {
  const data = dataMembers.filter((name) => part[name] !== undefined);
  if (data.length !== 1) throw invalid(path, "required oneof field 'data' must have one initialized field");
  if (part.functionCall !== undefined && role !== 'model')
    throw invalid(path, 'Function call is not of the model.');
  if (part.functionResponse !== undefined && role !== 'user')
    throw invalid(path, 'Function response is not of the user.');
  if (part.text !== undefined) {
    const text = string(part.text, [...path, 'text']);
    if (text === '' && part.thoughtSignature === undefined)
      throw invalid(path, 'Unable to submit request because it must have a text parameter.');
    read.tokens += countTokens(text);
  }
  for (const name of ['inlineData', 'fileData']) {
    if (part[name] !== undefined) readMedia(bag(part[name], path), [...path, name], read, rules);
  }
  if (isBag(part.functionCall)) {
    read.calledTools.add(String(part.functionCall.name));
    read.tokens += countTokens(JSON.stringify(part.functionCall));
  }
  if (isBag(part.functionResponse)) {
    const { response, parts } = part.functionResponse;
    read.toolResult = resultText(bag(response, [...path, 'functionResponse', 'response']));
    read.tokens += countTokens(read.toolResult);
    if (parts !== undefined && !rules.takesResultMedia)
      throw unknownName('parts', [...path, 'functionResponse']);
  }
}

const dataMembers = [
  'text',
  'inlineData',
  'fileData',
  'functionCall',
  'functionResponse',
  'executableCode',
  'codeExecutionResult',
];

function resultText(response: Bag): string {
  const { output, error } = response;
  return String(output ?? error ?? JSON.stringify(response));
}

function readMedia(
  { mimeType, data, fileUri }: Bag,
  path: Path,
  read: Contents,
  { takesAddresses }: CallRules,
): void {
  const type = filledString(mimeType, [...path, 'mimeType']);
  if (!mediaTypes.test(type)) throw invalid(path, `Unsupported MIME type: ${type}`);
  if (fileUri !== undefined) {
    const uri = filledString(fileUri, [...path, 'fileUri']);
    const isKnown = takesAddresses || uri.startsWith('https://generativelanguage.googleapis.com/');
    if (!isKnown) throw invalid(path, `Unsupported file URI type: ${uri}`);
  } else if (!/^[A-Za-z0-9+/]+={0,2}$/.test(string(data, [...path, 'data'])))
    throw invalid(path, 'Base64 decoding failed');
  read.tokens += mediaTokens;
}

function checkCalls(calls: Bag[], path: Path, { needsSignatures, ids, seal }: CallRules): void {
  for (const [at, { functionCall, thoughtSignature: signature }] of calls.entries()) {
    const call = bag(functionCall, path);
    const name = string(call.name, path);
    bag(call.args ?? {}, [...path, 'args']);
    if (signature !== undefined && signature !== skipSignature && !seal.isOwn(string(signature, path)))
      throw invalid(path, 'Corrupted thought signature.');
    if (signature === undefined && at === 0 && needsSignatures)
      throw invalid(
        path,
        `Function call is missing a thought_signature in functionCall parts. Function: ${name}, position ${at}.`,
      );
    checkId(call, [...path, 'functionCall'], ids);
  }
}

function checkResults(results: Bag[], calls: Bag[], path: Path, { ids }: CallRules): void {
  for (const [at, { functionResponse }] of results.entries()) {
    const result = bag(functionResponse, path);
    const call = bag(calls[at]?.functionCall, path);
    if (result.name !== call.name)
      throw invalid(
        path,
        `Function response is of ${String(result.name)}, the call of ${String(call.name)}.`,
      );
    checkId(result, [...path, 'functionResponse'], ids);
    if (result.id !== call.id) throw invalid(path, 'The id of a function response must be that of its call.');
  }
}

function checkId({ id }: Bag, path: Path, ids: CallRules['ids']): void {
  if (ids === 'refused' && id !== undefined) throw unknownName('id', path);
  if (ids === 'given' && (typeof id !== 'string' || id === ''))
    throw invalid(path, 'The id of a function call is required.');
}

export function invalid(path: Path, message: string): BadRequest {
  return new BadRequest(path, message, 'INVALID_ARGUMENT', { isWhole: true });
}
