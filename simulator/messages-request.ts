// What does a body of POST /v1/messages ask for? As strict as Anthropic is, so that a bad translation is seen.
// (Anthropic API documentation, "Messages".)

import type { Bag, Path } from './checks.ts';
import {
  BadRequest,
  bag,
  boolean,
  filledString,
  integer,
  isAbsent,
  isBag,
  list,
  matching,
  missing,
  number,
  oneOf,
  onlyKnown,
  string,
} from './checks.ts';
import type { ReadContext } from './dialect.ts';
import { readTurns } from './messages-turns.ts';
import { claudeRefuses } from './model-quirks.ts';
import { checkOutputSchema } from './output-schema.ts';
import type { OutputForm, Prompt, Tool, ToolChoice } from './prompt.ts';
import { reasoningTokensOf } from './reasoning-effort.ts';
import { countTokens } from './tokens.ts';

export type MessagesSettings = {
  /** Whether the text of the reasoning is left out, as `display: omitted` wants. */
  omitsThinking: boolean;
  hasUsage: boolean;
};

type MessagesRequest = { prompt: Prompt; isStream: boolean; settings: MessagesSettings };

/** Throws BadRequest. */
export function readMessagesRequest(body: Bag, context: ReadContext): MessagesRequest {
  const version = readVersion(context);
  if (context.directives.isStrict) onlyKnown(body, knownMembers);
  filledString(body.model, ['model']);
  checkThread(body.thread);
  // Counting takes no max_tokens. The vendor refuses a count with max_tokens; accepting it here is harmless.
  const tokensMax = integer(body.max_tokens, ['max_tokens'], { min: 0 });
  if (tokensMax === undefined && !context.isCounting) throw missing(['max_tokens']);
  const system = readSystem(body.system);
  const tools = readTools(body.tools);
  const turns = readTurns(list(body.messages, ['messages'], { min: 1, max: 100_000 }), context.seal);
  if (turns.hasToolBlocks && tools.offered === 0) {
    throw new BadRequest(
      ['tools'],
      'Requests which have `tool_use` or `tool_result` blocks in their messages must define tools.',
    );
  }
  if (turns.isPrefilled && (context.directives.isStrict || claudeRefuses(context.model, 'prefill'))) {
    throw new BadRequest(
      [],
      'This model does not support assistant message prefill. The conversation must end with a user message.',
    );
  }
  const thinking = readThinking(body, tokensMax, turns.toolResult !== undefined);
  const choice = readToolChoice(body.tool_choice, tools);
  const isForced = choice.choice.kind === 'required' || choice.choice.kind === 'one';
  if (isForced && claudeRefuses(context.model, 'forced-call')) {
    throw new BadRequest(['tool_choice'], 'type "tool" and "any" are not supported for this model');
  }
  if (isForced && thinking.isOn) {
    throw new BadRequest(
      ['tool_choice'],
      'Thinking may not be enabled when tool_choice forces tool use.',
      'invalid',
      {
        isWhole: true,
      },
    );
  }
  checkSampling(body, version, thinking.isOn);
  checkBreakpoints(body);
  checkMetadata(body.metadata);
  const prompt: Prompt = {
    model: context.model,
    seed: `${context.model} ${JSON.stringify(body.messages)}`,
    lastUserText: turns.lastUserText,
    ...(turns.toolResult === undefined ? {} : { toolResult: turns.toolResult }),
    calledTools: turns.calledTools,
    tools: tools.callable,
    toolChoice: choice.choice,
    isParallel: choice.isParallel,
    output: thinking.output,
    reasoningTokens: thinking.tokens,
    ...(tokensMax === undefined ? {} : { tokensMax }),
    sendsHalfCalls: false,
    stops: readStops(body.stop_sequences),
    samples: 1,
    inputTokens: system + turns.tokens + (tools.offered === 0 ? 0 : countTokens(JSON.stringify(body.tools))),
  };
  return {
    prompt,
    isStream: boolean(body.stream, ['stream']) ?? false,
    settings: { omitsThinking: thinking.isOmitted, hasUsage: !context.directives.hasNoUsage },
  };
}

// The simulator stores no conversations. After this error text the vendor's SDK sends the whole conversation.
function checkThread(value: unknown): void {
  if (isAbsent(value)) return;
  throw new BadRequest(['thread'], 'Message threads are not available here.', 'invalid', {
    details: { error_code: 'thread_unsupported_request', unsupported: ['thread'] },
  });
}

function readVersion({ headers }: ReadContext): string {
  const version = headers['anthropic-version'];
  if (typeof version !== 'string' || version === '') {
    throw new BadRequest(['anthropic-version'], 'header is required');
  }
  return version;
}

function readSystem(value: unknown): number {
  if (isAbsent(value)) return 0;
  if (typeof value === 'string') return countTokens(value);
  let tokens = 0;
  for (const [at, item] of list(value, ['system']).entries()) {
    const block = bag(item, ['system', at]);
    oneOf(block.type, ['system', at, 'type'], ['text']);
    const text = string(block.text, ['system', at, 'text']);
    if (text.trim() === '') throw new BadRequest([], 'system: text content blocks must be non-empty');
    tokens += countTokens(text);
  }
  return tokens;
}

type Tools = { callable: Tool[]; offered: number; names: Set<string> };

function readTools(value: unknown): Tools {
  const tools: Tools = { callable: [], offered: 0, names: new Set() };
  if (isAbsent(value)) return tools;
  for (const [at, item] of list(value, ['tools']).entries()) {
    const path: Path = ['tools', at];
    const tool = bag(item, path);
    const name = matching(tool.name, [...path, 'name'], /^[a-zA-Z0-9_-]{1,128}$/);
    if (tools.names.has(name)) throw new BadRequest(['tools'], 'Tool names must be unique.');
    tools.names.add(name);
    tools.offered += 1;
    // A dated type is a tool of the vendor's own: it has no schema, and the simulator leaves it alone.
    if (!isAbsent(tool.type) && tool.type !== 'custom') {
      matching(tool.type, [...path, 'type'], /^[a-z_]+_\d{8}$/);
      continue;
    }
    const schema = bag(tool.input_schema, [...path, 'input_schema']);
    oneOf(schema.type, [...path, 'input_schema', 'type'], ['object']);
    if (!isAbsent(tool.description)) string(tool.description, [...path, 'description']);
    tools.callable.push({ kind: 'function', name, schema });
  }
  return tools;
}

function readToolChoice(value: unknown, tools: Tools): { choice: ToolChoice; isParallel: boolean } {
  if (isAbsent(value)) return { choice: { kind: 'auto' }, isParallel: true };
  const choice = bag(value, ['tool_choice']);
  const type = oneOf(choice.type, ['tool_choice', 'type'], ['auto', 'any', 'tool', 'none']);
  if (tools.offered === 0 && type !== 'none') {
    throw new BadRequest(
      ['tool_choice'],
      'tool_choice may only be specified while providing tools',
      'invalid',
      {
        isWhole: true,
      },
    );
  }
  const isParallel = !(
    boolean(choice.disable_parallel_tool_use, ['tool_choice', 'disable_parallel_tool_use']) ?? false
  );
  if (type === 'auto' || type === 'none') return { choice: { kind: type }, isParallel };
  if (type === 'any') return { choice: { kind: 'required' }, isParallel };
  const name = string(choice.name, ['tool_choice', 'name']);
  if (!tools.names.has(name))
    throw new BadRequest(['tool_choice'], `Tool '${name}' not found in provided tools`);
  return { choice: { kind: 'one', name }, isParallel };
}

type Thinking = { isOn: boolean; isOmitted: boolean; tokens: number; output: OutputForm };

function readThinking(body: Bag, tokensMax: number | undefined, hasToolResult: boolean): Thinking {
  const { output, effort } = readOutputConfig(body.output_config);
  const off: Thinking = { isOn: false, isOmitted: false, tokens: 0, output };
  if (isAbsent(body.thinking)) return off;
  const thinking = bag(body.thinking, ['thinking']);
  const type = oneOf(
    thinking.type,
    ['thinking', 'type'],
    ['enabled', 'adaptive', 'disabled', 'between_tools'],
  );
  if (type === 'disabled') return off;
  const display = isAbsent(thinking.display)
    ? 'summarized'
    : oneOf(thinking.display, ['thinking', 'display'], ['summarized', 'omitted', 'updates']);
  if (type === 'enabled') checkBudget(thinking.budget_tokens, tokensMax);
  const tokens = type === 'between_tools' && !hasToolResult ? 0 : reasoningTokensOf(effort ?? 'medium');
  return { isOn: true, isOmitted: display === 'omitted', tokens, output };
}

function checkBudget(value: unknown, tokensMax: number | undefined): void {
  const path: Path = ['thinking', 'enabled', 'budget_tokens'];
  const budget = integer(value, path, { min: 1024 });
  if (budget === undefined) throw missing(path);
  if (tokensMax !== undefined && budget >= tokensMax) {
    throw new BadRequest(
      ['max_tokens'],
      '`max_tokens` must be greater than `thinking.budget_tokens`.',
      'invalid',
      {
        isWhole: true,
      },
    );
  }
}

function readOutputConfig(value: unknown): { output: OutputForm; effort: string | undefined } {
  if (isAbsent(value)) return { output: { kind: 'text' }, effort: undefined };
  const config = bag(value, ['output_config']);
  const effort = isAbsent(config.effort)
    ? undefined
    : oneOf(config.effort, ['output_config', 'effort'], ['low', 'medium', 'high', 'xhigh', 'max']);
  if (isAbsent(config.format)) return { output: { kind: 'text' }, effort };
  const format = bag(config.format, ['output_config', 'format']);
  oneOf(format.type, ['output_config', 'format', 'type'], ['json_schema']);
  const schema = bag(format.schema, ['output_config', 'format', 'schema']);
  checkOutputSchema(schema);
  return { output: { kind: 'json-schema', schema }, effort };
}

// From this version on the vendor takes no sampling parameters at all.
const versionWithoutSampling = '2026-10-21';

function checkSampling(body: Bag, version: string, isThinking: boolean): void {
  if (version >= versionWithoutSampling) {
    for (const name of ['temperature', 'top_p', 'top_k']) {
      if (!isAbsent(body[name])) throw new BadRequest([name], 'Extra inputs are not permitted');
    }
  }
  const temperature = number(body.temperature, ['temperature'], { min: 0, max: 1 });
  number(body.top_p, ['top_p'], { min: 0, max: 1 });
  integer(body.top_k, ['top_k'], { min: 0 });
  if (isThinking && temperature !== undefined && temperature !== 1) {
    throw new BadRequest(
      ['temperature'],
      '`temperature` may only be set to 1 when thinking is enabled.',
      'invalid',
      {
        isWhole: true,
      },
    );
  }
}

function readStops(value: unknown): string[] {
  if (isAbsent(value)) return [];
  return list(value, ['stop_sequences']).map((item, at) => {
    const stop = string(item, ['stop_sequences', at]);
    if (stop.trim() === '') {
      throw new BadRequest(['stop_sequences', at], 'each stop sequence must contain non-whitespace');
    }
    return stop;
  });
}

const breakpointsMax = 4;

function checkBreakpoints(body: Bag): void {
  const found = countBreakpoints(body.system) + countBreakpoints(body.tools) + countInMessages(body.messages);
  if (found > breakpointsMax) {
    const message = `A maximum of ${breakpointsMax} blocks with cache_control may be provided. Found ${found}.`;
    throw new BadRequest([], message);
  }
}

function countInMessages(messages: unknown): number {
  if (!Array.isArray(messages)) return 0;
  return messages.reduce(
    (sum: number, message) => sum + (isBag(message) ? countBreakpoints(message.content) : 0),
    0,
  );
}

function countBreakpoints(blocks: unknown): number {
  if (!Array.isArray(blocks)) return 0;
  return blocks.filter((block) => isBag(block) && !isAbsent(block.cache_control)).length;
}

function checkMetadata(value: unknown): void {
  if (isAbsent(value)) return;
  const metadata = bag(value, ['metadata']);
  if (!isAbsent(metadata.user_id)) string(metadata.user_id, ['metadata', 'user_id']);
}

const knownMembers: ReadonlySet<string> = new Set(
  `model max_tokens messages system stream stop_sequences temperature top_p top_k tools tool_choice thinking
   output_config metadata service_tier cache_control container inference_geo diagnostics speed user_profile_id
   workspace_id context_management mcp_servers thread fallbacks compaction output_format billing_policy`.split(
    /\s+/,
  ),
);
