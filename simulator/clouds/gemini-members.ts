// Which members may a request to generate content have? Google's parser refuses one that it does not know, wherever it is.
// (ai.google.dev/api/generate-content, read 2026-11.)

import type { Bag, Path } from '../checks.ts';
import { BadRequest, isBag } from '../checks.ts';

/** A message of the API: its members, and of which of them the messages inside are known. */
type Shape = { readonly [member: string]: Shape | 'any' };

const blob: Shape = { mimeType: 'any', data: 'any' };
const schema: Shape = {};
const openApi: readonly string[] = [
  ...[
    'type',
    'format',
    'title',
    'description',
    'nullable',
    'enum',
    'maxItems',
    'minItems',
    'properties',
    'required',
  ],
  ...[
    'minProperties',
    'maxProperties',
    'minLength',
    'maxLength',
    'pattern',
    'example',
    'anyOf',
    'propertyOrdering',
  ],
  ...['default', 'items', 'minimum', 'maximum'],
];

const part: Shape = {
  text: 'any',
  thought: 'any',
  thoughtSignature: 'any',
  inlineData: blob,
  fileData: { mimeType: 'any', fileUri: 'any' },
  functionCall: { id: 'any', name: 'any', args: 'any' },
  functionResponse: {
    id: 'any',
    name: 'any',
    response: 'any',
    parts: { inlineData: blob, fileData: { mimeType: 'any', fileUri: 'any' } },
  },
  executableCode: 'any',
  codeExecutionResult: 'any',
  videoMetadata: 'any',
  mediaResolution: 'any',
};
const content: Shape = { role: 'any', parts: part };

const request: Shape = {
  contents: content,
  systemInstruction: content,
  tools: {
    functionDeclarations: {
      name: 'any',
      description: 'any',
      parameters: schema,
      parametersJsonSchema: 'any',
    },
    googleSearch: {},
    codeExecution: {},
    urlContext: {},
  },
  toolConfig: { functionCallingConfig: { mode: 'any', allowedFunctionNames: 'any' } },
  safetySettings: { category: 'any', threshold: 'any' },
  cachedContent: 'any',
  generationConfig: {
    temperature: 'any',
    topP: 'any',
    topK: 'any',
    candidateCount: 'any',
    maxOutputTokens: 'any',
    stopSequences: 'any',
    seed: 'any',
    presencePenalty: 'any',
    frequencyPenalty: 'any',
    responseLogprobs: 'any',
    logprobs: 'any',
    responseMimeType: 'any',
    responseSchema: schema,
    responseJsonSchema: 'any',
    responseModalities: 'any',
    mediaResolution: 'any',
    thinkingConfig: { includeThoughts: 'any', thinkingBudget: 'any', thinkingLevel: 'any' },
  },
};

/** Members that one of the two hosts knows, and the other does not. */
const hostMembers = {
  gemini: ['serviceTier', 'store'],
  vertex: ['labels', 'modelArmorConfig'],
} as const;

/** Throws BadRequest for the first member that is not known. */
export function checkMembers(body: Bag, host: keyof typeof hostMembers): void {
  const own = Object.fromEntries(hostMembers[host].map((name) => [name, 'any'] as const));
  check(body, { ...request, ...own }, []);
}

function check(value: unknown, shape: Shape, path: Path): void {
  if (Array.isArray(value)) {
    for (const [at, entry] of value.entries()) check(entry, shape, [...path, at]);
    return;
  }
  if (!isBag(value)) throw new BadRequest(path, `Invalid value at '${pathText(path)}'`, 'INVALID_ARGUMENT');
  for (const [name, member] of Object.entries(value)) {
    const inner = shape[name];
    if (inner === schema) checkSchema(member, [...path, name]);
    else if (inner === undefined) throw unknownName(name, path);
    else if (inner !== 'any') check(member, inner, [...path, name]);
  }
}

/** Of the smaller language: unlike JSON Schema, it knows its own words alone. */
function checkSchema(value: unknown, path: Path): void {
  if (!isBag(value)) throw new BadRequest(path, `Invalid value at '${pathText(path)}'`, 'INVALID_ARGUMENT');
  for (const [word, inner] of Object.entries(value)) {
    const at = [...path, word];
    if (!openApi.includes(word)) throw unknownName(word, path);
    if (word === 'items') checkSchema(inner, at);
    if (word === 'anyOf' && Array.isArray(inner))
      for (const [index, each] of inner.entries()) checkSchema(each, [...at, index]);
    if (word === 'properties' && isBag(inner))
      for (const [name, each] of Object.entries(inner)) checkSchema(each, [...at, name]);
    if (word === 'type' && typeof inner !== 'string')
      throw new BadRequest(at, `Proto field is not repeating, cannot start list.`, 'INVALID_ARGUMENT');
    if (word === 'enum' && !(Array.isArray(inner) && inner.every((each) => typeof each === 'string')))
      throw new BadRequest(at, `Invalid value at '${pathText(at)}' (TYPE_STRING)`, 'INVALID_ARGUMENT');
  }
  if (value.type === 'array' && value.items === undefined)
    throw new BadRequest([...path, 'items'], `${pathText(path)}.items: missing field.`, 'INVALID_ARGUMENT');
}

export function unknownName(name: string, path: Path): BadRequest {
  const place = path.length === 0 ? '' : ` at '${pathText(path)}'`;
  return new BadRequest(
    path,
    `Invalid JSON payload received. Unknown name "${name}"${place}: Cannot find field.`,
    'INVALID_ARGUMENT',
  );
}

/** `contents[0].parts[1]`. */
function pathText(path: Path): string {
  return path.reduce<string>(
    (text, step) => (typeof step === 'number' ? `${text}[${step}]` : text === '' ? step : `${text}.${step}`),
    '',
  );
}
