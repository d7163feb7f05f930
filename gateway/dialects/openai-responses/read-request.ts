// Is this a responses request, and what does the gateway need to know of it?
// Bounds: OpenAI API reference, "Create a model response".

import { isRecord } from '../../json/record.ts';
import type { RequestBody } from '../../json/request-body.ts';
import type { RequestFacts } from '../dialect.ts';
import {
  checkParameters,
  checkToolForms,
  invalidParameter,
  missingParameter,
  outputTokensMax,
  type ParameterTable,
  type ParameterValues,
} from '../request/parameter-rules.ts';
import { isMintedId } from './minted-ids.ts';

const responsesParameters: ParameterTable = {
  model: { rule: { kind: 'name' }, isRequired: true },
  input: { rule: { kind: 'text-or-list' }, isLarge: true },
  instructions: { rule: { kind: 'string' }, isLarge: true },
  stream: { rule: { kind: 'boolean' } },
  stream_options: { rule: { kind: 'object' } },
  max_output_tokens: { rule: { kind: 'integer', min: 16 } },
  max_tool_calls: { rule: { kind: 'integer', min: 1 } },
  temperature: { rule: { kind: 'number', min: 0, max: 2 } },
  top_p: { rule: { kind: 'number', min: 0, max: 1 } },
  top_logprobs: { rule: { kind: 'integer', min: 0, max: 20 } },
  tools: { rule: { kind: 'list', itemsMin: 0 }, isLarge: true },
  tool_choice: { rule: { kind: 'object-or-string' } },
  parallel_tool_calls: { rule: { kind: 'boolean' } },
  reasoning: { rule: { kind: 'object' } },
  text: { rule: { kind: 'object' }, isLarge: true },
  include: { rule: { kind: 'list', itemsMin: 0 } },
  store: { rule: { kind: 'boolean' } },
  previous_response_id: { rule: { kind: 'string' } },
  conversation: { rule: { kind: 'object-or-string' } },
  background: { rule: { kind: 'boolean' } },
  truncation: { rule: { kind: 'string' } },
  context_management: { rule: { kind: 'list', itemsMin: 0 } },
  prompt: { rule: { kind: 'object' }, isLarge: true },
  metadata: {
    rule: { kind: 'texts-by-name', entriesMax: 16, nameLengthMax: 64, textLengthMax: 512 },
  },
  user: { rule: { kind: 'string' } },
  safety_identifier: { rule: { kind: 'string', lengthMax: 64 } },
  prompt_cache_key: { rule: { kind: 'string' } },
  prompt_cache_retention: { rule: { kind: 'string' } },
  service_tier: { rule: { kind: 'string' } },
};

/** Members that refer to input stored at a provider, in the order in which errors name them. */
const storedStateNames = ['previous_response_id', 'conversation', 'prompt'] as const;

const roles = new Set(['user', 'assistant', 'system', 'developer']);

/** @throws {GatewayError} `invalid_parameter`, naming the parameter. */
export function readResponsesRequest(body: RequestBody): RequestFacts {
  const values = checkParameters(body, responsesParameters);
  const isStream = values.get('stream') === true;
  if (values.has('stream_options') && !isStream) {
    invalidParameter('stream_options', "is only allowed together with 'stream': true");
  }
  const stored = storedStateNames.find((name) => values.has(name));
  checkInput(body, values, stored !== undefined);
  checkToolForms(values.get('tools'), 'responses');
  const storedInput = stored ?? referenceIn(values.get('input'));
  const isBackground = values.get('background') === true;
  return {
    model: String(values.get('model')),
    isStream,
    // The terminal event always has it.
    wantsUsage: true,
    choices: 1,
    ...outputTokensMax(values.get('max_output_tokens')),
    storedState: storedInput ?? (isBackground ? 'background' : undefined),
    ...(storedInput === undefined ? {} : { hasStoredInput: true }),
    ...(isBackground ? { isBackground: true } : {}),
  };
}

function checkInput(body: RequestBody, values: ParameterValues, mayBeAbsent: boolean): void {
  if (!values.has('input')) {
    if (!mayBeAbsent) missingParameter(body, responsesParameters, 'input');
    return;
  }
  // Input too long to be looked at here is the upstream's to judge.
  const input = values.get('input');
  if (!Array.isArray(input)) return;
  if (input.length === 0 && !mayBeAbsent) invalidParameter('input', 'must have at least 1 item');
  for (const [index, item] of input.entries()) checkItem(item, `input[${index}]`);
}

/**
 * Items of types that we do not know are the upstream's to judge.
 *
 * @throws {GatewayError} `invalid_parameter`, naming the item.
 */
export function checkItem(item: unknown, name: string): void {
  if (!isRecord(item)) invalidParameter(name, 'must be an object');
  const { type = null, role, content } = item;
  if (type !== null && typeof type !== 'string') invalidParameter(`${name}.type`, 'must be a string');
  if ((type !== null && type !== 'message') || isReference(item)) return;
  if (typeof role !== 'string') invalidParameter(`${name}.role`, 'is required and must be a string');
  else if (!roles.has(role)) {
    invalidParameter(
      `${name}.role`,
      `must be one of ${[...roles].join(', ')}, not ${JSON.stringify(role.slice(0, 64))}`,
    );
  }
  if (typeof content !== 'string' && !Array.isArray(content)) {
    invalidParameter(`${name}.content`, 'is required and must be a string or a list of parts');
  }
}

/** A reference may come without its type: an id alone. */
export function isReference(item: Readonly<Record<string, unknown>>): boolean {
  const { type = null, id, role } = item;
  if (type === 'item_reference') return true;
  return type === null && typeof id === 'string' && role === undefined;
}

function referenceIn(input: unknown): 'input' | undefined {
  const items: readonly unknown[] = Array.isArray(input) ? input : [];
  const isStored = (item: unknown): boolean => isRecord(item) && isReference(item) && !isMintedId(item.id);
  return items.some(isStored) ? 'input' : undefined;
}
