// Is this a chat completion request, and what does the gateway need to know of it?
// Bounds: OpenAI API reference, "Create chat completion"; those of the completions route hold here too.

import {
  childrenIn,
  codeOf,
  nameOf,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
  textOf,
  valueEndOf,
  valueStartOf,
} from '../../json/json-scan.ts';
import { isRecord } from '../../json/record.ts';
import type { RequestBody } from '../../json/request-body.ts';
import type { RequestFacts } from '../dialect.ts';
import { boundNewer, boundOlder } from '../request/chat-names.ts';
import { otherAddress } from '../request/other-dialect.ts';
import {
  checkParameters,
  checkToolForms,
  invalidParameter,
  outputTokensMax,
  type ParameterTable,
  type ParameterValues,
  readStreamOptions,
} from '../request/parameter-rules.ts';
import { isGiven } from '../request/side-effects.ts';

const chatParameters: ParameterTable = {
  model: { rule: { kind: 'name' }, isRequired: true },
  messages: { rule: { kind: 'list', itemsMin: 1 }, isRequired: true, isLarge: true, isUsual: areUsual },
  stream: { rule: { kind: 'boolean' } },
  stream_options: { rule: { kind: 'object' } },
  max_tokens: { rule: { kind: 'integer', min: 1 } },
  max_completion_tokens: { rule: { kind: 'integer', min: 1 } },
  temperature: { rule: { kind: 'number', min: 0, max: 2 } },
  top_p: { rule: { kind: 'number', min: 0, max: 1 } },
  n: { rule: { kind: 'integer', min: 1, max: 128 } },
  stop: { rule: { kind: 'texts', itemsMin: 0, itemsMax: 4 } },
  presence_penalty: { rule: { kind: 'number', min: -2, max: 2 } },
  frequency_penalty: { rule: { kind: 'number', min: -2, max: 2 } },
  logit_bias: { rule: { kind: 'numbers-by-name', min: -100, max: 100 }, isLarge: true },
  logprobs: { rule: { kind: 'boolean' } },
  top_logprobs: { rule: { kind: 'integer', min: 0, max: 20 } },
  seed: { rule: { kind: 'integer' } },
  tools: { rule: { kind: 'list', itemsMin: 0 }, isLarge: true },
  tool_choice: { rule: { kind: 'object-or-string' } },
  parallel_tool_calls: { rule: { kind: 'boolean' } },
  functions: { rule: { kind: 'list', itemsMin: 0, itemsMax: 128 }, isLarge: true },
  function_call: { rule: { kind: 'object-or-string' } },
  response_format: { rule: { kind: 'object' }, isLarge: true },
  reasoning_effort: { rule: { kind: 'string' } },
  verbosity: { rule: { kind: 'string' } },
  modalities: { rule: { kind: 'list', itemsMin: 0 } },
  audio: { rule: { kind: 'object' } },
  prediction: { rule: { kind: 'object' }, isLarge: true },
  web_search_options: { rule: { kind: 'object' } },
  service_tier: { rule: { kind: 'string' } },
  store: { rule: { kind: 'boolean' } },
  metadata: {
    rule: { kind: 'texts-by-name', entriesMax: 16, nameLengthMax: 64, textLengthMax: 512 },
  },
  user: { rule: { kind: 'string' } },
  safety_identifier: { rule: { kind: 'string', lengthMax: 64 } },
  prompt_cache_key: { rule: { kind: 'string' } },
  prompt_cache_options: { rule: { kind: 'object' } },
  prompt_cache_retention: { rule: { kind: 'string' } },
  moderation: { rule: { kind: 'object' } },
};

/** Whether the gateway knows a top-level member of this name. */
export function isChatParameter(name: string): boolean {
  return Object.hasOwn(chatParameters, name);
}

const roles = new Set(['developer', 'system', 'user', 'assistant', 'tool', 'function']);

/** @throws {GatewayError} `invalid_parameter`, naming the parameter. */
export function readChatRequest(body: RequestBody): RequestFacts {
  return readChat(body).facts;
}

interface ChatRequest {
  readonly facts: RequestFacts;
  /** Without the values that are too large to be looked at for every request. */
  readonly values: ParameterValues;
}

/** @throws {GatewayError} `invalid_parameter`, naming the parameter. */
export function readChat(body: RequestBody): ChatRequest {
  const values = checkParameters(body, chatParameters);
  const messages = values.get('messages');
  if (Array.isArray(messages)) checkMessages(messages);
  checkToolForms(values.get('tools'), 'chat');
  // Most upstreams would pass over it without a word, and the model would never see it.
  if (isGiven(body, 'system')) {
    invalidParameter(
      'system',
      `is not a parameter of chat completions. ${otherAddress(body, chatParameters)}`,
    );
  }
  const isStream = values.get('stream') === true;
  const wantsUsage = readStreamOptions(values.get('stream_options'), isStream);
  if (values.has('top_logprobs') && values.get('logprobs') !== true) {
    invalidParameter('top_logprobs', "needs 'logprobs': true");
  }
  return {
    facts: {
      model: String(values.get('model')),
      isStream,
      wantsUsage,
      choices: Number(values.get('n') ?? 1),
      ...boundOf(values.get(boundNewer), values.get(boundOlder)),
    },
    values,
  };
}

/** With both names of one bound, each upstream uses the name that it knows, or either: no answer is longer than the larger. */
function boundOf(newer: unknown, older: unknown): Partial<RequestFacts> {
  if (typeof newer !== 'number') return outputTokensMax(older);
  if (typeof older !== 'number') return { outputTokensMax: newer, hasNewerBoundOnly: true };
  return { outputTokensMax: Math.max(newer, older) };
}

/** Whether they are as `checkMessages` wants them; some that are may not be. */
function areUsual(body: Buffer, from: number, to: number): boolean {
  if (body[from] !== OPEN_BRACKET) return false;
  const count = childrenIn(body, 0, from, to) ?? 0;
  for (let at = 0; at < count; at++) if (!isUsual(body, at)) return false;
  return count > 0;
}

function isUsual(body: Buffer, at: number): boolean {
  if (codeOf(0, at) !== OPEN_BRACE) return false;
  const count = childrenIn(body, 1, valueStartOf(0, at), valueEndOf(0, at)) ?? 0;
  let hasRole = false;
  let hasContent = false;
  for (let member = 0; member < count; member++) {
    const name = nameOf(1, member)?.text;
    if (name === undefined) return false;
    if (name === 'role') {
      // Of two with one name a parser takes the last.
      if (hasRole || !roles.has(textOf(1, member) ?? '')) return false;
      hasRole = true;
    } else if (name === 'content') {
      const code = codeOf(1, member);
      if (hasContent || (code !== QUOTE && code !== OPEN_BRACKET)) return false;
      hasContent = true;
    }
  }
  return hasRole && hasContent;
}

/**
 * Checks messages that are short enough to parse here. The decoder checks long ones.
 *
 * @throws {GatewayError} `invalid_parameter`, naming the message.
 */
export function checkMessages(messages: readonly unknown[]): void {
  for (const [index, message] of messages.entries()) {
    const name = `messages[${index}]`;
    if (!isRecord(message)) {
      invalidParameter(name, 'must be an object with a role and content');
      continue;
    }
    const { role } = message;
    if (typeof role !== 'string') invalidParameter(`${name}.role`, 'is required and must be a string');
    else if (!roles.has(role)) {
      invalidParameter(
        `${name}.role`,
        `must be one of ${[...roles].join(', ')}, not ${JSON.stringify(role)}`,
      );
    }
    const { content } = message;
    const mayBeAbsent = role === 'assistant' || role === 'function';
    if (content === undefined || content === null) {
      if (!mayBeAbsent) invalidParameter(`${name}.content`, 'is required');
    } else if (typeof content !== 'string' && !Array.isArray(content)) {
      invalidParameter(`${name}.content`, 'must be a string or a list of parts');
    }
  }
}
