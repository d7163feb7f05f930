// Which JSON costs its reader far more than its writer? Deep, wide, long, and in numbers and names that parsers stumble over; and requests
// that are sound and have far more in them than anybody would say.

import type { DialectName } from '../../../core/contract/routing-table.ts';

/** A bomb of about `bytes`, as a request of the dialect to the model would hold it. */
export type Bomb = (request: Request, bytes: number) => string;

export interface Request {
  readonly model: string;
  readonly dialect: DialectName;
}

/** What each dialect cannot do without, but for the prompt. */
const needed: Readonly<Record<DialectName, string>> = {
  'openai-chat': '',
  'openai-completions': '',
  'openai-responses': '',
  'anthropic-messages': '"max_tokens":16,',
};

const promptName: Readonly<Record<DialectName, string>> = {
  'openai-chat': 'messages',
  'openai-completions': 'prompt',
  'openai-responses': 'input',
  'anthropic-messages': 'messages',
};

const prompting = ({ model, dialect }: Request, prompt: string): string =>
  `{"model":${JSON.stringify(model)},${needed[dialect]}"${promptName[dialect]}":${prompt}`;

const turn = (content: string): string => `{"role":"user","content":${content}}`;

/** Beside a prompt that is one. */
const around = (request: Request, name: string, value: string): string => {
  const prompt = request.dialect === 'openai-completions' ? '"x"' : `[${turn('"x"')}]`;
  return `${prompting(request, prompt)},${JSON.stringify(name)}:${value}}`;
};

const filled = (part: string, bytes: number): string =>
  part.repeat(Math.max(1, Math.floor(bytes / part.length)));

const listOf = (part: string, bytes: number): string => `[${filled(`${part},`, bytes).slice(0, -1)}]`;

/** Different ones, as many as fit; all are of one length. */
const numbered = (part: (number: string) => string, bytes: number): readonly string[] => {
  const count = Math.max(1, Math.floor(bytes / (part('00000000').length + 1)));
  return Array.from({ length: count }, (_, at) => part(String(at).padStart(8, '0')));
};

/** Nothing but underscores: where namespace and name are joined by two of them, each is called the same. */
const alikeCalls = (bytes: number): string => {
  const letters = Math.max(2, Math.floor(Math.sqrt(bytes)) - 40);
  const calls = Array.from({ length: letters - 1 }, (_, at) => {
    const [namespace, name] = ['_'.repeat(at + 1), '_'.repeat(letters - at - 1)];
    return `{"type":"function_call","call_id":"c${at}","namespace":"${namespace}","name":"${name}","arguments":"{}"}`;
  });
  return `[${turn('"x"')},${calls.join(',')}]`;
};

const toolOf = ({ dialect }: Request, name: string): string => {
  if (dialect === 'anthropic-messages') return `{"name":"${name}","input_schema":{}}`;
  if (dialect === 'openai-responses') return `{"type":"function","name":"${name}","parameters":{}}`;
  return `{"type":"function","function":{"name":"${name}"}}`;
};

/** Four are taken of OpenAI's dialects; responses have none. */
const stopping = (request: Request, bytes: number): string => {
  const stopOf = (filler: string) => (number: string) => `"${number}_${filler}"`;
  if (request.dialect === 'anthropic-messages') {
    return around(request, 'stop_sequences', `[${numbered(stopOf('x'.repeat(20)), bytes).join(',')}]`);
  }
  if (request.dialect === 'openai-responses')
    return around(request, 'instructions', `"${filled('x', bytes)}"`);
  const four = numbered(stopOf('x'.repeat(Math.floor(bytes / 4))), bytes);
  return around(request, 'stop', `[${four.slice(0, 4).join(',')}]`);
};

/** Allowed in the worst order for a search from the front. */
const allowing = (request: Request, bytes: number): string => {
  const names = numbered((number) => `tool_${number}_${'x'.repeat(60)}`, bytes / 2.6);
  const tools = names.map((name) => toolOf(request, name)).join(',');
  const allowed = names
    .toReversed()
    .map((name) =>
      request.dialect === 'openai-responses'
        ? `{"type":"function","name":"${name}"}`
        : `{"type":"function","function":{"name":"${name}"}}`,
    );
  const some = `"mode":"auto","tools":[${allowed.join(',')}]`;
  const choices = {
    'openai-chat': `{"type":"allowed_tools","allowed_tools":{${some}}}`,
    'openai-responses': `{"type":"allowed_tools",${some}}`,
    'anthropic-messages': '{"type":"any"}',
    'openai-completions': '"auto"',
  };
  return around(request, 'tools', `[${tools}],"tool_choice":${choices[request.dialect]}`);
};

/** Requires all that it has, in the other order. */
const requiring = (request: Request, bytes: number): string => {
  const names = numbered((number) => `"property_${number}_${'x'.repeat(20)}"`, bytes / 2.1);
  const properties = names.map((name) => `${name}:{}`).join(',');
  const schema = `"schema":{"type":"object","properties":{${properties}},"required":[${names.toReversed().join(',')}]}`;
  const format = `{"type":"json_schema","name":"n","strict":true,${schema}}`;
  switch (request.dialect) {
    case 'openai-responses':
      return around(request, 'text', `{"format":${format}}`);
    case 'anthropic-messages':
      return around(request, 'output_config', `{"format":${format}}`);
    default:
      return around(
        request,
        'response_format',
        `{"type":"json_schema","json_schema":{"name":"n","strict":true,${schema}}}`,
      );
  }
};

/** Between the turns, where a messages upstream takes none; those have states of other providers instead, to be taken out. */
const interrupting = (request: Request, bytes: number): string => {
  if (request.dialect === 'openai-completions') return `${prompting(request, `"${filled('x', bytes)}"`)}}`;
  const begun =
    request.dialect === 'anthropic-messages'
      ? `{"role":"assistant","content":${listOf(`{"type":"thinking","thinking":"${'x'.repeat(20)}","signature":""}`, bytes)}}`
      : listOf(`{"role":"system","content":"${'x'.repeat(20)}"}`, bytes).slice(1, -1);
  return `${prompting(request, `[${turn('"x"')},${begun},${turn('"x"')}]`)}}`;
};

const textPart = ({ dialect }: Request, text: string): string =>
  `{"type":"${dialect === 'openai-responses' ? 'input_text' : 'text'}","text":"${text}"}`;

export const bombs: Readonly<Record<string, Bomb>> = {
  deepLists: (request, bytes) => around(request, 'x', `${filled('[', bytes / 2)}${filled(']', bytes / 2)}`),
  deepObjects: (request, bytes) =>
    around(request, 'x', `${filled('{"a":', bytes)}1${'}'.repeat(Math.floor(bytes / 5))}`),
  neverClosed: (request, bytes) => around(request, 'x', filled('[', bytes)).slice(0, -1),
  emptyLists: (request, bytes) => around(request, 'x', listOf('[]', bytes)),
  emptyObjects: (request, bytes) => around(request, 'x', listOf('{}', bytes)),
  zeros: (request, bytes) => around(request, 'x', listOf('0', bytes)),
  longNumber: (request, bytes) => around(request, 'x', filled('9', bytes)),
  manyNumbers: (request, bytes) => around(request, 'x', listOf('1.7976931348623157e308', bytes)),
  longString: (request, bytes) => around(request, 'x', `"${filled('x', bytes)}"`),
  escapes: (request, bytes) => around(request, 'x', `"${filled('\\u0000', bytes)}"`),
  backslashes: (request, bytes) => around(request, 'x', `"${filled('\\\\', bytes)}"`),
  spaces: (request, bytes) => around(request, 'x', `${filled(' ', bytes)}1`),
  oneName: (request, bytes) => around(request, 'x', `{${filled('"a":1,', bytes).slice(0, -1)}}`),
  manyNames: ({ model }, bytes) =>
    `{"model":${JSON.stringify(model)},${Array.from({ length: Math.floor(bytes / 12) }, (_, n) => `"n${n}":1`).join(',')}}`,
  repeatedModel: ({ model }, bytes) => `{${filled(`"model":${JSON.stringify(model)},`, bytes)}"messages":[]}`,
  prototypes: (request, bytes) =>
    around(request, '__proto__', listOf('{"constructor":{"prototype":{}}}', bytes)),
  // Sound all of them, but for completions, which have neither turns nor parts nor tools.
  manyTurns: (request, bytes) => `${prompting(request, listOf(turn(`"${'x'.repeat(20)}"`), bytes))}}`,
  manyParts: (request, bytes) =>
    `${prompting(request, `[${turn(listOf(textPart(request, 'x'.repeat(24)), bytes))}]`)}}`,
  escapedParts: (request, bytes) =>
    `${prompting(request, `[${turn(`[${textPart(request, filled('\\n', bytes))},${textPart(request, 'x')}]`)}]`)}}`,
  longPrompt: (request, bytes) => {
    const prompt = `"${filled('one\\ntwo \\"three\\"\\t', bytes)}"`;
    return `${prompting(request, request.dialect === 'openai-completions' ? prompt : `[${turn(prompt)}]`)}}`;
  },
  laterSystem: interrupting,
  manyTools: (request, bytes) => {
    const tools = numbered((number) => toolOf(request, `tool_${number}_${'x'.repeat(40)}`), bytes);
    return around(request, 'tools', `[${tools.join(',')}]`);
  },
  // Longer than an upstream takes, and alike as far as it would take them.
  longNames: (request, bytes) => {
    const tools = numbered((number) => toolOf(request, `${'x'.repeat(100)}_${number}`), bytes);
    return around(request, 'tools', `[${tools.join(',')}]`);
  },
  alikeNames: (request, bytes) =>
    request.dialect === 'openai-responses'
      ? `${prompting(request, alikeCalls(bytes))}}`
      : around(request, 'tools', `[${toolOf(request, 'x')}]`),
  manyStops: stopping,
  allowedTools: allowing,
  requiredProperties: requiring,
};

/** From a few bytes to more than is taken; most are small enough to be many. */
export function bombBytes(random: () => number): number {
  return Math.floor(64 * 2 ** (random() * 15));
}
