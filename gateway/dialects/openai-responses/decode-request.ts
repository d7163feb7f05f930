// A responses request as a conversation, and what of it the answer says again.

import type { RequestBody } from '../../json/request-body.ts';
import type { Ask, Conversation } from '../conversation.ts';
import type { RequestFacts } from '../dialect.ts';
import { invalidParameter } from '../request/parameter-rules.ts';
import { type NoteAsk, readMember, readWhole } from '../request/read-values.ts';
import type { ClientToolType } from './client-tools.ts';
import { decodeInput } from './decode-input.ts';
import { decodeSettings, type ReadMember } from './decode-settings.ts';
import { decodeToolChoice, decodeTools } from './decode-tools.ts';
import { readResponsesRequest } from './read-request.ts';

interface DecodedRequest {
  readonly facts: RequestFacts;
  readonly conversation: Conversation;
  /** Whose calls have items of their own. */
  readonly clientTools: ReadonlySet<ClientToolType>;
  readonly read: ReadMember;
}

/** @throws {GatewayError} `invalid_parameter`, naming the parameter. */
export function decodeResponsesRequest(body: RequestBody): DecodedRequest {
  const facts = readResponsesRequest(body);
  const read: ReadMember = (name) => (wholes.has(name) ? readWhole(body, name) : readMember(body, name));
  const asks: Ask[] = [];
  const asked = new Set<string>();
  const ask: NoteAsk = (feature, param) => {
    if (asked.has(`${feature} ${param}`)) return;
    asked.add(`${feature} ${param}`);
    asks.push({ feature, param });
  };
  const { system, turns, toolLists } = decodeInput(read('instructions'), read('input'), ask);
  const top = read('tools');
  const offered = decodeTools(top === undefined ? toolLists : [['tools', top], ...toolLists], ask);
  const toolChoice = decodeToolChoice(read('tool_choice'), offered, ask);
  const settings = decodeSettings(read, ask);
  const isOneByOne = read('parallel_tool_calls') === false && offered.tools.length > 0;
  if (isOneByOne) ask('parallel-calls-off', 'parallel_tool_calls');
  askForTheRest(body, read, ask);
  return {
    facts,
    read,
    clientTools: offered.clientTools,
    conversation: {
      asks,
      system,
      turns,
      tools: offered.tools,
      ...(offered.hasWebSearch ? { hasWebSearch: true } : {}),
      ...(toolChoice ? { toolChoice } : {}),
      ...(isOneByOne ? { mayCallInParallel: false } : {}),
      choices: 1,
      ...settings,
    },
  };
}

/** Members that hold whole values of the caller's. */
const wholes: ReadonlySet<string> = new Set(['input', 'tools', 'text', 'metadata']);

/** Members of which nothing is carried. */
function askForTheRest(body: RequestBody, read: ReadMember, ask: NoteAsk): void {
  for (const { name } of body.scan.members) {
    if (carried.has(name)) continue;
    const value = read(name);
    if (value === undefined || isNothing(value)) continue;
    if (stored.has(name)) ask('stored-state', name);
    else if (name === 'truncation') {
      if (value === 'auto') ask('context-management', name);
      else if (value !== 'disabled') invalidParameter(name, 'must be auto or disabled');
    } else if (name === 'context_management') ask('context-management', name);
    else ask(vendor.has(name) ? 'vendor-member' : 'unknown-member', name);
  }
}

function isNothing(value: unknown): boolean {
  return value === false || (Array.isArray(value) && value.length === 0);
}

/** Decoded above, or of no consequence for an upstream. */
const carried: ReadonlySet<string> = new Set([
  'model',
  'input',
  'instructions',
  'stream',
  'stream_options',
  'max_output_tokens',
  'temperature',
  'top_p',
  'top_logprobs',
  'tools',
  'tool_choice',
  'parallel_tool_calls',
  'reasoning',
  'text',
  'include',
  'store',
  'metadata',
  'client_metadata',
  'user',
  'safety_identifier',
  'prompt_cache_key',
  'service_tier',
]);

const stored: ReadonlySet<string> = new Set(['previous_response_id', 'conversation', 'prompt', 'background']);

const vendor: ReadonlySet<string> = new Set([
  'max_tool_calls',
  'prompt_cache_options',
  'prompt_cache_retention',
  'moderation',
  'image',
  'access_programs',
]);
