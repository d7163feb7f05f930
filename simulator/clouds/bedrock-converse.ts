// What is a Converse request, and what does its model answer? Checked as strictly as Bedrock does, and served by the simulator's messages.

import { eventFrame } from './event-stream.ts';

type Bag = Record<string, unknown>;
type Block = Readonly<Bag>;

/** Thrown for what Bedrock refuses as a ValidationException. */
class ConverseRefusal extends Error {}

const members = new Set([
  ...[
    'messages',
    'system',
    'inferenceConfig',
    'toolConfig',
    'guardrailConfig',
    'outputConfig',
    'performanceConfig',
  ],
  ...['additionalModelRequestFields', 'additionalModelResponseFieldPaths', 'requestMetadata', 'serviceTier'],
]);

/** The request of the messages dialect that asks for the same. */
export function messagesOf(body: Bag, model: string, isStream: boolean): Bag {
  for (const name of Object.keys(body)) if (!members.has(name)) refuse(`unknown member ${name}`);
  const messages = list(body.messages, 'messages');
  const system = body.system === undefined ? [] : list(body.system, 'system');
  const tools = body.toolConfig === undefined ? [] : list(bag(body.toolConfig).tools, 'toolConfig.tools');
  checkTurns(messages, body.toolConfig !== undefined);
  checkPoints([tools, system, ...messages.map(({ content }) => list(content, 'content'))]);
  checkMetadata(body.requestMetadata);
  const { maxTokens = 1000, temperature, topP, stopSequences } = bag(body.inferenceConfig ?? {});
  if (!(Number(maxTokens) >= 1)) refuse('maxTokens must be at least 1');
  for (const share of [temperature, topP])
    if (share !== undefined && !(Number(share) >= 0 && Number(share) <= 1))
      refuse('temperature and topP are from 0 to 1');
  const { anthropic_beta: _, ...fields } = bag(body.additionalModelRequestFields ?? {});
  return {
    model,
    max_tokens: maxTokens,
    messages: messages.map(({ role, content }) => ({ role, content: blocksOf(list(content, 'content')) })),
    ...(system.length > 0 ? { system: blocksOf(system) } : {}),
    ...(tools.length > 0 ? { tools: toolsOf(tools) } : {}),
    ...(body.toolConfig === undefined ? {} : choiceOf(bag(body.toolConfig).toolChoice)),
    ...(temperature === undefined ? {} : { temperature }),
    ...(topP === undefined ? {} : { top_p: topP }),
    ...(stopSequences === undefined ? {} : { stop_sequences: stopSequences }),
    ...fields,
    ...(isStream ? { stream: true } : {}),
  };
}

function checkTurns(messages: readonly Block[], hasTools: boolean): void {
  let calls: readonly unknown[] = [];
  const names = new Set<unknown>();
  for (const [at, { role, content }] of messages.entries()) {
    if (role !== (at % 2 === 0 ? 'user' : 'assistant'))
      refuse('a conversation must alternate, and begin with the user');
    const blocks = list(content, 'content');
    if (blocks.length === 0) refuse('content is empty');
    const results = blocks
      .filter(({ toolResult }) => toolResult)
      .map(({ toolResult }) => bag(toolResult).toolUseId);
    if (results.length !== calls.length || calls.some((id) => !results.includes(id)))
      refuse('the toolResult blocks do not match the toolUse blocks of the previous turn');
    calls = blocks.filter(({ toolUse }) => toolUse).map(({ toolUse }) => bag(toolUse).toolUseId);
    if (!hasTools && results.length + calls.length > 0)
      refuse('toolConfig must be defined when using toolUse or toolResult');
    for (const { document } of blocks.filter((block) => block.document)) {
      const { name } = bag(document);
      if (typeof name !== 'string' || !/^(?!.* {2})[A-Za-z0-9()[\] -]{1,200}$/.test(name) || names.has(name))
        refuse('the name of a document');
      names.add(name);
      if (!blocks.some(({ text }) => text !== undefined)) refuse('a document needs text beside it');
    }
    if (role === 'user' && blocks.some(({ reasoningContent }) => reasoningContent))
      refuse('reasoning of the user');
  }
}

function checkPoints(lists: readonly (readonly Block[])[]): void {
  const ttls: string[] = [];
  for (const blocks of lists) {
    for (const [at, block] of blocks.entries()) {
      if (block.cachePoint === undefined) continue;
      const before = blocks[at - 1];
      if (!before || before.cachePoint || before.reasoningContent)
        refuse('a cachePoint belongs after what it covers');
      ttls.push(String(bag(block.cachePoint).ttl ?? '5m'));
    }
  }
  if (ttls.length > 4) refuse('more than 4 cachePoints');
  if (ttls.lastIndexOf('1h') > ttls.indexOf('5m') && ttls.includes('5m'))
    refuse('a ttl of 1h after one of 5m');
}

function checkMetadata(value: unknown): void {
  const pairs = Object.entries(bag(value ?? {})).flat();
  if (value !== undefined && (pairs.length === 0 || pairs.length > 32))
    refuse('requestMetadata has 1 to 16 pairs');
  for (const text of pairs)
    if (typeof text !== 'string' || !/^[a-zA-Z0-9\s:_@$#=/+,.-]{0,256}$/.test(text))
      refuse('requestMetadata');
}

function blocksOf(blocks: readonly Block[]): Bag[] {
  const out: Bag[] = [];
  for (const block of blocks) {
    const last = out.at(-1);
    if (block.cachePoint && last) last.cache_control = { type: 'ephemeral', ...ttlOf(block.cachePoint) };
    else out.push(blockOf(block));
  }
  return out;
}

function ttlOf(point: unknown): object {
  const { ttl } = bag(point);
  return ttl === undefined ? {} : { ttl };
}

function blockOf(block: Block): Bag {
  const [kind = '', ...more] = Object.keys(block);
  if (more.length > 0) refuse(`a block with ${more.length + 1} members`);
  const value = block[kind];
  switch (kind) {
    case 'text':
      if (typeof value !== 'string' || value.trim() === '')
        refuse('The text field in the ContentBlock is blank');
      return { type: 'text', text: value };
    case 'image': {
      const { format, source } = bag(value);
      if (!/^(png|jpeg|gif|webp)$/.test(String(format))) refuse('the format of an image');
      return {
        type: 'image',
        source: { type: 'base64', media_type: `image/${format}`, data: bag(source).bytes },
      };
    }
    case 'document':
      return documentOf(bag(value));
    case 'toolUse': {
      const { toolUseId, name, input } = bag(value);
      if (!/^[\w.:-]{1,64}$/.test(String(toolUseId))) refuse('toolUseId');
      return { type: 'tool_use', id: toolUseId, name, input: bag(input) };
    }
    case 'toolResult': {
      const { toolUseId, content, status } = bag(value);
      const inner = list(content, 'toolResult.content');
      if (inner.length === 0 || inner.some((each) => each.cachePoint)) refuse('the content of a toolResult');
      const error = status === 'error' ? { is_error: true } : {};
      return { type: 'tool_result', tool_use_id: toolUseId, content: blocksOf(inner), ...error };
    }
    case 'reasoningContent': {
      const { reasoningText, redactedContent } = bag(value);
      if (typeof redactedContent === 'string')
        return { type: 'redacted_thinking', data: Buffer.from(redactedContent, 'base64').toString() };
      const { text, signature } = bag(reasoningText);
      return { type: 'thinking', thinking: text, signature };
    }
    default:
      return refuse(`a block of the kind ${kind}`);
  }
}

function documentOf({ format, source }: Bag): Bag {
  const { bytes } = bag(source);
  const data = String(bytes);
  if (format === 'pdf')
    return { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data } };
  const text = Buffer.from(data, 'base64').toString();
  return { type: 'document', source: { type: 'text', media_type: 'text/plain', data: text } };
}

function toolsOf(tools: readonly Block[]): Bag[] {
  if (tools.length === 0) refuse('tools is empty');
  const out: Bag[] = [];
  for (const { toolSpec, cachePoint } of tools) {
    const last = out.at(-1);
    if (cachePoint && last) {
      last.cache_control = { type: 'ephemeral', ...ttlOf(cachePoint) };
      continue;
    }
    const { name, description, inputSchema } = bag(toolSpec);
    if (!/^[\w-]{1,64}$/.test(String(name)) || description === '') refuse('a toolSpec');
    out.push({ name, description, input_schema: bag(bag(inputSchema).json) });
  }
  return out;
}

function choiceOf(choice: unknown): Bag {
  if (choice === undefined) return {};
  const [type = '', value] = Object.entries(bag(choice))[0] ?? [];
  if (!['auto', 'any', 'tool'].includes(type)) refuse('toolChoice');
  return { tool_choice: { type, ...bag(value) } };
}

/** The plain answer of Converse that says what this message says. */
export function converseOf(message: Bag, blockedBy: BlockedBy): Bag {
  return {
    output: { message: { role: 'assistant', content: list(message.content, 'content').map(answerBlock) } },
    stopReason: reasonOf(message.stop_reason, blockedBy),
    usage: usageOf(bag(message.usage)),
    metrics: { latencyMs: 1 },
    ...(typeof message.stop_sequence === 'string'
      ? { additionalModelResponseFields: { stop_sequence: message.stop_sequence } }
      : {}),
  };
}

function answerBlock(block: Block): Bag {
  switch (block.type) {
    case 'tool_use':
      return { toolUse: { toolUseId: block.id, name: block.name, input: block.input } };
    case 'thinking':
      return { reasoningContent: { reasoningText: { text: block.thinking, signature: block.signature } } };
    case 'redacted_thinking':
      return { reasoningContent: { redactedContent: Buffer.from(String(block.data)).toString('base64') } };
    default:
      return { text: block.text };
  }
}

/** Why an answer that is blocked ends: a request that names a guardrail has another reason than the model's own filter. */
export type BlockedBy = 'guardrail_intervened' | 'content_filtered';

function reasonOf(reason: unknown, blockedBy: BlockedBy): unknown {
  return reason === 'refusal' ? blockedBy : reason;
}

function usageOf(usage: Bag): Bag {
  const [inputTokens, outputTokens] = [Number(usage.input_tokens ?? 0), Number(usage.output_tokens ?? 0)];
  const read = Number(usage.cache_read_input_tokens ?? 0);
  const write = Number(usage.cache_creation_input_tokens ?? 0);
  const hour = Number(bag(usage.cache_creation ?? {}).ephemeral_1h_input_tokens ?? 0);
  return {
    inputTokens,
    outputTokens,
    totalTokens: inputTokens + outputTokens + read + write,
    cacheReadInputTokens: read,
    cacheWriteInputTokens: write,
    ...(hour > 0 ? { cacheDetails: [{ ttl: '1h', inputTokens: hour }] } : {}),
  };
}

/** Turns the events of one streamed message into frames. */
export class ConverseStream {
  private usage: Bag = {};
  private ended: Bag | undefined;
  private readonly blockedBy: BlockedBy;

  constructor(blockedBy: BlockedBy) {
    this.blockedBy = blockedBy;
  }

  frames(event: Bag): readonly Buffer[] {
    const contentBlockIndex = event.index;
    switch (event.type) {
      case 'message_start':
        this.usage = { ...bag(bag(event.message).usage) };
        return [eventFrame('messageStart', { role: 'assistant' })];
      case 'content_block_start': {
        const { type, id, name, data } = bag(event.content_block);
        if (type === 'tool_use')
          return [
            eventFrame('contentBlockStart', {
              contentBlockIndex,
              start: { toolUse: { toolUseId: id, name } },
            }),
          ];
        if (type !== 'redacted_thinking') return [];
        // In two pieces: their bytes are one value.
        const bytes = Buffer.from(String(data));
        return [bytes.subarray(0, 7), bytes.subarray(7)].map((piece) =>
          deltaFrame(contentBlockIndex, { reasoningContent: { redactedContent: piece.toString('base64') } }),
        );
      }
      case 'content_block_delta': {
        const { type, text, thinking, signature, partial_json: input } = bag(event.delta);
        if (type === 'text_delta') return [deltaFrame(contentBlockIndex, { text })];
        if (type === 'input_json_delta') return [deltaFrame(contentBlockIndex, { toolUse: { input } })];
        const part = type === 'signature_delta' ? { signature } : { text: thinking };
        return [deltaFrame(contentBlockIndex, { reasoningContent: part })];
      }
      case 'content_block_stop':
        return [eventFrame('contentBlockStop', { contentBlockIndex })];
      case 'message_delta':
        this.ended = bag(event.delta);
        this.usage = { ...this.usage, ...bag(event.usage ?? {}) };
        return [];
      case 'message_stop': {
        const { stop_reason: reason, stop_sequence: met } = this.ended ?? {};
        const more = typeof met === 'string' ? { additionalModelResponseFields: { stop_sequence: met } } : {};
        return [
          eventFrame('messageStop', { stopReason: reasonOf(reason, this.blockedBy), ...more }),
          eventFrame('metadata', { usage: usageOf(this.usage), metrics: { latencyMs: 1 } }),
        ];
      }
      default:
        return [];
    }
  }
}

function deltaFrame(contentBlockIndex: unknown, delta: object): Buffer {
  return eventFrame('contentBlockDelta', { contentBlockIndex, delta });
}

function bag(value: unknown): Bag {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return refuse('an object is missing');
  return value as Bag;
}

function list(value: unknown, name: string): readonly Block[] {
  if (!Array.isArray(value)) return refuse(`${name} is no list`);
  return value.map(bag);
}

function refuse(message: string): never {
  throw new ConverseRefusal(message);
}
