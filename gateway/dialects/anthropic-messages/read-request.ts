// Is this a messages request, and what does the gateway need to know of it?
// Bounds: Anthropic API reference, "Create a Message" and "Count tokens in a Message". The sampling
// members are taken under every `anthropic-version`; whether a model takes them is its upstream's to say.

import { isRecord } from '../../json/record.ts';
import type { RequestBody } from '../../json/request-body.ts';
import type { RequestFacts, RequestPurpose } from '../dialect.ts';
import {
  checkParameters,
  checkToolForms,
  invalidParameter,
  outputTokensMax,
  type ParameterTable,
} from '../request/parameter-rules.ts';

/** What counting takes too. */
const inputParameters: ParameterTable = {
  model: { rule: { kind: 'name' }, isRequired: true },
  messages: { rule: { kind: 'list', itemsMin: 0, itemsMax: 100_000 }, isRequired: true, isLarge: true },
  system: { rule: { kind: 'text-or-list' }, isLarge: true },
  tools: { rule: { kind: 'list', itemsMin: 0 }, isLarge: true },
  tool_choice: { rule: { kind: 'object' } },
  thinking: { rule: { kind: 'object' } },
  output_config: { rule: { kind: 'object' }, isLarge: true },
  output_format: { rule: { kind: 'object' }, isLarge: true },
  cache_control: { rule: { kind: 'object' } },
  context_management: { rule: { kind: 'object' } },
};

const messagesParameters: ParameterTable = {
  ...inputParameters,
  messages: { rule: { kind: 'list', itemsMin: 1, itemsMax: 100_000 }, isRequired: true, isLarge: true },
  // Zero fills the prompt cache and generates nothing.
  max_tokens: { rule: { kind: 'integer', min: 0 }, isRequired: true },
  stream: { rule: { kind: 'boolean' } },
  stop_sequences: { rule: { kind: 'list', itemsMin: 0 } },
  temperature: { rule: { kind: 'number', min: 0, max: 1 } },
  top_p: { rule: { kind: 'number', min: 0, max: 1 } },
  top_k: { rule: { kind: 'integer', min: 0 } },
  metadata: { rule: { kind: 'object' } },
  service_tier: { rule: { kind: 'string' } },
};

const roles = new Set(['user', 'assistant', 'system']);

/** @throws {GatewayError} `invalid_parameter`, naming the parameter. */
export function readMessagesRequest(body: RequestBody, purpose: RequestPurpose = 'answer'): RequestFacts {
  const values = checkParameters(body, purpose === 'count' ? inputParameters : messagesParameters);
  const messages = values.get('messages');
  if (Array.isArray(messages)) checkMessages(messages);
  checkToolForms(values.get('tools'), 'messages');
  const stops = values.get('stop_sequences');
  if (Array.isArray(stops)) checkStops(stops);
  return {
    model: String(values.get('model')),
    isStream: values.get('stream') === true,
    // The dialect always tells it.
    wantsUsage: true,
    choices: 1,
    ...outputTokensMax(values.get('max_tokens')),
  };
}

/** Messages short enough to be looked at here; long ones are the upstream's to judge. */
function checkMessages(messages: readonly unknown[]): void {
  for (const [index, message] of messages.entries()) {
    const name = `messages[${index}]`;
    if (!isRecord(message)) {
      invalidParameter(name, 'must be an object with a role and content');
      continue;
    }
    checkRole(message.role, `${name}.role`);
    const { content, role } = message;
    // A system message may hold nothing but a change of effort.
    if ((content === undefined || content === null) && role === 'system') continue;
    if (typeof content !== 'string' && !Array.isArray(content)) {
      invalidParameter(`${name}.content`, 'is required and must be a string or a list of blocks');
    }
  }
}

/** @throws {GatewayError} `invalid_parameter`. */
export function checkRole(role: unknown, path: string): asserts role is 'user' | 'assistant' | 'system' {
  if (typeof role !== 'string') invalidParameter(path, 'is required and must be a string');
  else if (!roles.has(role)) {
    invalidParameter(
      path,
      `must be one of ${[...roles].join(', ')}, not ${JSON.stringify(role.slice(0, 64))}`,
    );
  }
}

function checkStops(stops: readonly unknown[]): void {
  for (const [index, stop] of stops.entries()) {
    const name = `stop_sequences[${index}]`;
    if (typeof stop !== 'string') invalidParameter(name, 'must be a string');
    else if (stop.trim() === '') invalidParameter(name, 'must hold more than white space');
  }
}
