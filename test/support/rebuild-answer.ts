// Which plain answer does a client put together from a streamed one? By the rules of each dialect's
// wire, and without the gateway's own encoders and decoders. What breaks a rule throws.

import type { DialectName } from '../../core/contract/routing-table.ts';
import { asRecord, type JsonRecord } from '../../gateway/json/record.ts';

interface Frame {
  readonly name: string | undefined;
  readonly data: string;
}

/** The plain answer that the stream represents; nulls are left out, as in `withoutNulls`. */
export function rebuildAnswer(dialect: DialectName, text: string): unknown {
  const frames = framesOf(text);
  switch (dialect) {
    case 'openai-chat':
    case 'openai-completions':
      return withoutNulls(fromChunks(frames, dialect));
    case 'anthropic-messages':
      return withoutNulls(fromMessageEvents(frames));
    case 'openai-responses':
      return withoutNulls(fromResponseEvents(frames));
  }
}

/** Null, absent and empty mean the same in an answer. */
export function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.length === 0 ? undefined : value.map(withoutNulls);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .map(([name, member]) => [name, withoutNulls(member)] as const)
      .filter(([, member]) => member !== null && member !== undefined && member !== ''),
  );
}

export function framesOf(text: string): readonly Frame[] {
  must(text === '' || text.endsWith('\n\n'), 'a stream ends with a blank line');
  return text
    .split('\n\n')
    .filter((block) => block !== '' && !block.startsWith(':'))
    .map((block) => {
      const lines = block.split('\n');
      const data = lines.filter((line) => line.startsWith('data: ')).map((line) => line.slice(6));
      const name = lines.find((line) => line.startsWith('event: '))?.slice(7);
      must(data.length === 1, `an event has one line of data: ${block}`);
      return { name, data: data[0] ?? '' };
    });
}

function fromChunks(frames: readonly Frame[], dialect: 'openai-chat' | 'openai-completions'): JsonRecord {
  must(frames.at(-1)?.data === '[DONE]', 'the stream ends with [DONE]');
  const chunks = frames.slice(0, -1).map(({ name, data }) => {
    must(name === undefined, 'chunks have no event name');
    return record(JSON.parse(data));
  });
  const [first] = chunks;
  const choices = new Map<number, Choice>();
  let usage: unknown;
  for (const chunk of chunks) {
    for (const name of ['id', 'created', 'model']) {
      must(chunk[name] === first?.[name], `'${name}' is the same in every chunk`);
    }
    must(usage === undefined || usage === null, 'nothing comes behind the usage chunk');
    if (list(chunk.choices).length === 0) usage = chunk.usage;
    for (const entry of list(chunk.choices)) addToChoice(choices, record(entry), dialect);
  }
  const { id, created, model, service_tier, system_fingerprint } = first ?? {};
  return {
    id,
    object: dialect === 'openai-chat' ? 'chat.completion' : 'text_completion',
    created,
    model,
    choices: [...choices.values()].toSorted((a, b) => a.index - b.index).map(choiceOf),
    usage,
    service_tier,
    system_fingerprint,
  };
}

interface Choice {
  readonly index: number;
  /** Members whose deltas are joined. */
  readonly texts: Map<string, string>;
  readonly calls: Map<number, { id: unknown; type: unknown; name: unknown; input: string }>;
  readonly details: Map<number, Record<string, unknown>>;
  /** Lists by name, each joined. */
  readonly logprobs: Map<string, readonly unknown[]>;
  readonly annotations: unknown[];
  role: unknown;
  finish: unknown;
  isCompletion: boolean;
}

function addToChoice(choices: Map<number, Choice>, entry: JsonRecord, dialect: DialectName): void {
  const index = Number(entry.index);
  let choice = choices.get(index);
  const delta = dialect === 'openai-chat' ? record(entry.delta) : { text: entry.text };
  if (!choice) {
    must(dialect !== 'openai-chat' || delta.role === 'assistant', 'the first delta has the role');
    choice = {
      index,
      texts: new Map(),
      calls: new Map(),
      details: new Map(),
      logprobs: new Map(),
      annotations: [],
      role: delta.role,
      finish: null,
      isCompletion: dialect === 'openai-completions',
    };
    choices.set(index, choice);
  }
  must(choice.finish === null, 'nothing comes behind the finish reason');
  for (const name of ['content', 'refusal', 'reasoning', 'reasoning_content', 'text']) {
    const text = delta[name];
    if (text === undefined || text === null) continue;
    must(typeof text === 'string', `'${name}' is a string`);
    choice.texts.set(name, (choice.texts.get(name) ?? '') + text);
  }
  for (const call of list(delta.tool_calls)) addCall(choice, record(call));
  for (const detail of list(delta.reasoning_details)) addDetail(choice, record(detail));
  for (const [name, values] of Object.entries(record(entry.logprobs))) {
    choice.logprobs.set(name, [...(choice.logprobs.get(name) ?? []), ...list(values)]);
  }
  choice.annotations.push(...list(delta.annotations));
  if (entry.finish_reason) choice.finish = entry.finish_reason;
}

function addCall({ calls }: Choice, delta: JsonRecord): void {
  must(Number.isInteger(delta.index), 'a call has its index');
  const index = Number(delta.index);
  const body = record(delta.function ?? delta.custom);
  const input = body.arguments ?? body.input;
  const call = calls.get(index);
  if (call) {
    must(delta.id === undefined && body.name === undefined, 'id and name come once');
    call.input += String(input);
    return;
  }
  must(index === calls.size, 'calls are counted in order of appearance');
  must(Boolean(delta.id && delta.type && body.name), 'the first delta of a call has id, type and name');
  calls.set(index, { id: delta.id, type: delta.type, name: body.name, input: String(input ?? '') });
}

function addDetail({ details }: Choice, detail: JsonRecord): void {
  const known = details.get(Number(detail.index));
  if (!known) details.set(Number(detail.index), { ...detail });
  else if (typeof detail.summary === 'string') known.summary = String(known.summary) + detail.summary;
}

function choiceOf({
  index,
  texts,
  calls,
  details,
  logprobs,
  annotations,
  role,
  finish,
  isCompletion,
}: Choice): JsonRecord {
  must(finish !== null, 'every choice has a finish reason');
  const tail = {
    logprobs: logprobs.size === 0 ? null : Object.fromEntries(logprobs),
    finish_reason: finish,
  };
  if (isCompletion) return { text: texts.get('text'), index, ...tail };
  const message = {
    role,
    ...Object.fromEntries(texts),
    ...(calls.size === 0
      ? {}
      : {
          tool_calls: [...calls.values()].map(({ id, type, name, input }) =>
            type === 'custom'
              ? { id, type, custom: { name, input } }
              : { id, type, function: { name, arguments: input } },
          ),
        }),
    ...(annotations.length === 0 ? {} : { annotations }),
    ...(details.size === 0 ? {} : { reasoning_details: [...details.values()] }),
  };
  return { index, message, ...tail };
}

function eventsOf(frames: readonly Frame[]): readonly JsonRecord[] {
  return frames.map(({ name, data }) => {
    const event = record(JSON.parse(data));
    must(name === event.type, `the event is named by its type: ${name}`);
    return event;
  });
}

function fromMessageEvents(frames: readonly Frame[]): JsonRecord {
  const [start, ...events] = eventsOf(frames).filter(({ type }) => type !== 'ping');
  must(start?.type === 'message_start', 'message_start comes first');
  const message = record(start?.message);
  must(Number.isInteger(record(message.usage).input_tokens), 'message_start has usage');
  const content: Record<string, unknown>[] = [];
  let open: { readonly block: Record<string, unknown>; input: string } | undefined;
  let end: JsonRecord | undefined;
  let hasStopped = false;
  for (const event of events) {
    must(!hasStopped, 'nothing comes behind message_stop');
    switch (event.type) {
      case 'content_block_start':
        must(!open && !end, 'a block starts when the one before has stopped');
        must(event.index === content.length, 'blocks are counted from 0 without gaps');
        open = { block: { ...record(event.content_block) }, input: '' };
        checkEmpty(open.block);
        content.push(open.block);
        break;
      case 'content_block_delta':
        must(event.index === content.length - 1, 'a delta belongs to the open block');
        if (!open) throw new Error('a delta comes inside a block');
        addDelta(open, record(event.delta));
        break;
      case 'content_block_stop':
        must(open !== undefined && event.index === content.length - 1, 'the open block stops');
        if (open && open.input !== '') open.block.input = JSON.parse(open.input);
        open = undefined;
        break;
      case 'message_delta':
        must(!open && !end, 'message_delta comes once, behind the blocks');
        end = event;
        must(Number.isInteger(record(event.usage).output_tokens), 'message_delta has output_tokens');
        break;
      case 'message_stop':
        must(end !== undefined, 'message_stop comes behind message_delta');
        hasStopped = true;
        break;
      default:
        throw new Error(`no event of messages: ${event.type}`);
    }
  }
  must(hasStopped, 'the stream ends with message_stop');
  return {
    ...message,
    content,
    ...record(end?.delta),
    usage: { ...record(message.usage), ...record(end?.usage) },
  };
}

const startsEmpty: Readonly<Record<string, JsonRecord>> = {
  text: { text: '' },
  thinking: { thinking: '', signature: '' },
};

function checkEmpty(block: JsonRecord): void {
  for (const [name, value] of Object.entries(startsEmpty[String(block.type)] ?? {})) {
    must(block[name] === value, `a ${block.type} block starts with an empty '${name}'`);
  }
  if (block.type === 'tool_use')
    must(JSON.stringify(block.input) === '{}', 'a tool_use block starts with {}');
}

const deltaTypes: Readonly<Record<string, readonly [block: string, member: string]>> = {
  text_delta: ['text', 'text'],
  citations_delta: ['text', 'citation'],
  thinking_delta: ['thinking', 'thinking'],
  signature_delta: ['thinking', 'signature'],
  input_json_delta: ['tool_use', 'partial_json'],
};

function addDelta(open: { readonly block: Record<string, unknown>; input: string }, delta: JsonRecord): void {
  const [block, member] = deltaTypes[String(delta.type)] ?? [];
  const type = open.block.type === 'server_tool_use' ? 'tool_use' : open.block.type;
  must(member !== undefined && type === block, `no ${delta.type} in a ${open.block.type} block`);
  if (delta.type === 'citations_delta') {
    open.block.citations = [...list(open.block.citations), delta.citation];
    return;
  }
  const text = String(delta[member ?? '']);
  if (delta.type === 'input_json_delta') open.input += text;
  else open.block[member ?? ''] = String(open.block[member ?? '']) + text;
}

/** The items as they were streamed must be those of the terminal event. */
function fromResponseEvents(frames: readonly Frame[]): unknown {
  const events = eventsOf(frames);
  must(events[0]?.type === 'response.created', 'response.created comes first');
  must(events[1]?.type === 'response.in_progress', 'response.in_progress comes second');
  const done: unknown[] = [];
  const texts = new Map<string, string>();
  let itemId: unknown;
  for (const [position, event] of events.entries()) {
    must(event.sequence_number === position, 'events are numbered from 0 without gaps');
    const type = String(event.type);
    if (type === 'response.output_item.added') {
      must(itemId === undefined && event.output_index === done.length, 'items come one after the other');
      itemId = record(event.item).id;
      continue;
    }
    if ('output_index' in event) must(event.output_index === done.length, `${type} belongs to the open item`);
    if ('item_id' in event) must(event.item_id === itemId, 'an item keeps its id');
    const place = `${type.slice(0, type.lastIndexOf('.'))} ${event.content_index ?? event.summary_index ?? ''}`;
    if (type.endsWith('.delta')) texts.set(place, (texts.get(place) ?? '') + event.delta);
    const whole = event.text ?? event.arguments ?? event.input ?? event.refusal;
    if (type.endsWith('.done') && typeof whole === 'string') {
      must((texts.get(place) ?? '') === whole, `the deltas of ${place} make the whole`);
    }
    if (type !== 'response.output_item.done') continue;
    must(record(event.item).id === itemId, 'the item that was added is done');
    done.push(event.item);
    itemId = undefined;
    texts.clear();
  }
  const last = events.at(-1);
  must(
    ['response.completed', 'response.incomplete'].includes(String(last?.type)),
    'a terminal event comes last',
  );
  const response = record(last?.response);
  must(
    JSON.stringify(response.output) === JSON.stringify(done),
    'the terminal event has the items as streamed',
  );
  return response;
}

function must(isSo: boolean, rule: string): void {
  if (!isSo) throw new Error(`broken rule: ${rule}`);
}

function record(value: unknown): JsonRecord {
  return asRecord(value) ?? {};
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
