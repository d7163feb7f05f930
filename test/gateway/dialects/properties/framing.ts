// What does a client get for whatever an upstream writes? One stream for each seed: an answer in the upstream's dialect, written
// in every legal spelling of server-sent events, with what hostile and broken upstreams put between, cut anywhere in flight.
//
// Drawn without fast-check: a million of them have to fit in minutes. A failing seed says all.

import type { Usage } from '../../../../core/contract/ledger-record.ts';
import type { DialectName } from '../../../../core/contract/routing-table.ts';
import type { AnswerStream, Dialect } from '../../../../gateway/dialects/dialect.ts';
import { responseEventBytesMax } from '../../../../gateway/dialects/events/sse-events.ts';
import { findDialect } from '../../../../gateway/dialects/registry.ts';
import { streamAsRequested, translateAsRequested } from '../../../../gateway/dialects/response-model.ts';
import { translateStream } from '../../../../gateway/dialects/translate.ts';
import { asRecord } from '../../../../gateway/json/record.ts';
import type { SseStyle } from '../../../support/wall/behaviour.ts';
import { makeRandom } from '../../../support/wall/split.ts';
import { writeSse } from '../../../support/wall/sse.ts';
import { fillAnswer, type Said, type Voice, type VoiceEvent } from '../../../support/wall/voice.ts';
import { anthropicMessages } from '../../../support/wall/voices/anthropic-messages.ts';
import { openaiChat } from '../../../support/wall/voices/openai-chat.ts';
import { openaiCompletions } from '../../../support/wall/voices/openai-completions.ts';
import { openaiResponses } from '../../../support/wall/voices/openai-responses.ts';
import { backToBack } from './both-sides.ts';

const voices: readonly (readonly [DialectName, Voice])[] = [
  ['openai-chat', openaiChat],
  ['openai-completions', openaiCompletions],
  ['openai-responses', openaiResponses],
  ['anthropic-messages', anthropicMessages],
];

type Draw = <T>(among: readonly T[]) => T;

/** What came of one stream, and what is wrong with it. */
export interface FramingRun {
  readonly faults: readonly string[];
  readonly pair: string;
  /** `complete`, or how the stream failed. */
  readonly end: string;
  readonly sent: string;
}

export function runFraming(seed: number): FramingRun {
  const random = makeRandom(seed);
  const draw: Draw = (among) => {
    const one = among[Math.floor(random() * among.length)];
    if (one === undefined) throw new Error('nothing to draw from');
    return one;
  };
  const [clientName] = draw(voices);
  const [upstreamName, voice] = draw(voices);
  const client = findDialect(clientName);
  const { bytes: written, isCorrupt } = writeUpstream(voice, draw, random);
  const namesAsked = draw([true, false]);
  const stream = openStream(
    client,
    findDialect(upstreamName),
    upstreamName === 'openai-chat' && draw([true, false]),
    namesAsked,
  );
  const pieces: string[] = [];
  for (let at = 0; at < written.length && !isOver(stream); ) {
    // Behind what an upstream gives, nothing or a sign of life: never inside of an event.
    if (random() < 0.05) pieces.push(client.keepAlive);
    const next = at + 1 + Math.floor(random() ** 3 * 2000);
    pieces.push(textOf(stream.push(written.subarray(at, next))));
    at = next;
  }
  if (!isOver(stream)) pieces.push(textOf(stream.end()));
  const { fault, isComplete, usage } = stream.facts;
  pieces.push(isComplete && !fault ? stream.close() : stream.broken());
  const sent = pieces.join('');
  return {
    faults: [
      ...grammarFaults(sent, client, { isBroken: fault !== undefined || !isComplete, isCorrupt }),
      ...(isComplete || fault ? [] : ['the stream neither ended well nor failed']),
      ...usageFaults(usage),
      ...(namesAsked ? modelFaults(sent, client) : []),
    ],
    pair: `${clientName} from ${upstreamName}`,
    end: fault?.kind ?? 'complete',
    sent,
  };
}

interface OpenStream extends AnswerStream {
  close(): string;
  broken(): string;
}

const asked = 'penstock/asked';
const head = { id: 'req', createdAt: 1_700_000_000, model: asked, inputEstimate: 1 };

const error = { message: 'gone\r\nid: 1', type: 'server_error', code: 'upstream_error', param: null };

/** @param namesAsked As on a route that names the model which was asked for. */
function openStream(
  client: Dialect,
  upstream: Dialect,
  wantsUsage: boolean,
  namesAsked: boolean,
): OpenStream {
  const facts = { model: asked, isStream: true, wantsUsage, choices: 1 };
  const end = client.streamEnd;
  if (client === upstream) {
    const relayed = client.same.relayStream(facts);
    const relay = namesAsked ? streamAsRequested(relayed, client.same, asked) : relayed;
    return Object.assign(relay, {
      close: () => end,
      broken: () => relay.errorFrame?.(error) ?? client.errorFrame(error, 'req_1'),
    });
  }
  const { translation } = sidesOf(client);
  const encoder = (namesAsked ? translateAsRequested(translation) : translation).streamEncoder(head);
  const stream = translateStream(sidesOf(upstream).call, encoder.open(0));
  return Object.assign(stream, {
    close: () => encoder.close() + end,
    broken: () => stream.errorFrame?.(error) ?? client.errorFrame(error, 'req_1'),
  });
}

/** The request is always the same. */
const sides = new Map<string, ReturnType<typeof backToBack>>();

function sidesOf(dialect: Dialect): ReturnType<typeof backToBack> {
  const known = sides.get(dialect.name) ?? backToBack(dialect);
  sides.set(dialect.name, known);
  return known;
}

function isOver({ facts }: AnswerStream): boolean {
  return facts.isComplete || facts.fault !== undefined;
}

function textOf(bytes: Buffer | undefined): string {
  return bytes?.toString('utf8') ?? '';
}

const tokens = [
  'The ',
  'gate\n\n',
  'data: {"x":1}\n',
  'id: 7\r\n',
  '漢字 ',
  '\u2028',
  '\uFEFF',
  '😀',
  'event: error\n',
  '[DONE]',
  '"finish_reason":"stop"',
  '\u0000',
];

function writeUpstream(
  voice: Voice,
  draw: Draw,
  random: () => number,
): { bytes: Buffer; isCorrupt: boolean } {
  const isAble = voice !== openaiCompletions;
  const said = fillAnswer(
    {
      tokens: Array.from({ length: 1 + Math.floor(random() * 6) }, () => draw(tokens)),
      ...(isAble && random() < 0.2 && { reasoning: 'First this, then that.' }),
      ...(isAble && random() < 0.2 && { toolCalls: [{ name: 'clock', arguments: '{"zone":"UTC"}' }] }),
      usageChunk: draw(['always', 'never', 'twice'] as const),
    },
    {},
    voice,
    { number: 1, nowMs: 1.7e12 },
  );
  const events = spoilt(said, voice, draw, random);
  const style: SseStyle = {
    byteOrderMark: random() < 0.1,
    newline: draw(['\n', '\n', '\r\n', '\r'] as const),
  };
  const isMixed = random() < 0.2;
  const parts = events.map((event, at) => {
    const own = isMixed ? { newline: draw(['\n', '\r\n', '\r'] as const) } : {};
    const odd: SseStyle =
      random() < 0.5
        ? {}
        : {
            noSpace: random() < 0.3,
            ids: random() < 0.3,
            ...(random() < 0.2 && { retryMs: 5 }),
            comments: random() < 0.3,
            emptyData: random() < 0.2,
            multiline: random() < 0.2 && event.data.endsWith('}'),
            ...(random() < 0.1 && { eventName: 'message' }),
          };
    const bytes = writeSse(event, at + 1, { ...style, ...own, ...odd });
    return random() < 0.05 ? Buffer.concat([Buffer.from(draw(lines)), bytes]) : bytes;
  });
  const whole = Buffer.concat(parts);
  // Some end early, and some are no text at all in one place.
  const end = random() < 0.15 ? Math.floor(random() * whole.length) : whole.length;
  const isCorrupt = random() < 0.03;
  if (isCorrupt) whole[Math.floor(random() * whole.length)] = Math.floor(random() * 256);
  return { bytes: whole.subarray(0, end), isCorrupt };
}

/** Lines that a reader has to leave alone, or that mean what clients must not see. */
const lines = [
  'id: 1\n\n',
  'id\n',
  'retry: 99999\n\n',
  'retry: x\n',
  'foo: bar\n',
  'data\n\n',
  'data: \n\n',
  'data:\ndata:\n\n',
  'event: ping\n\n',
  'event:\n',
  ':\n\n',
  ': id: 5\r\r',
  '\n\n\n',
  '\r\n\r\n',
  ' data: {"x":1}\n',
];

/** What hostile and broken upstreams write as the data of an event. */
const oddData = [
  '[DONE]',
  '[]',
  'null',
  '"text"',
  '{}',
  '<html>no</html>',
  '{"a":',
  '{"error":{"message":"no","type":"api_error"}}',
  '{"error":"no"}',
  '{"choices":[]}',
  '{"choices":[{"index":0,"delta":{"content":5}}]}',
  '{"usage":{"prompt_tokens":-1,"completion_tokens":1.5,"total_tokens":"9"}}',
  '{"usage":{"prompt_tokens":1e300,"completion_tokens":9007199254740993}}',
  '{"type":"message_delta","delta":{},"usage":{"output_tokens":-5,"input_tokens":1e21}}',
  '{"type":"response.completed","response":{"usage":{"input_tokens":-1,"output_tokens":"x"}}}',
  '{"type":"ping"}',
  '{"type":"error","error":{"type":"overloaded_error","message":"no"}}',
];

const oddNames = [
  'ping',
  'message',
  'error',
  'x y',
  'id: 5',
  'évènement',
  'response.newer.delta',
  'newer_event',
  '<b>',
  'x'.repeat(300),
];

function spoilt(said: Said, voice: Voice, draw: Draw, random: () => number): VoiceEvent[] {
  const events = voice.events(said);
  if (random() < 0.3) return events;
  const share = draw([0.03, 0.1, 0.3]);
  return events.flatMap((event, at): VoiceEvent[] => {
    if (random() > share) return [event];
    switch (draw(['drop', 'twice', 'data', 'name', 'more', 'error'] as const)) {
      case 'drop':
        return [];
      case 'twice':
        return [event, event];
      case 'data':
        return [{ ...event, data: draw(oddData) }];
      case 'name':
        return [{ ...event, event: draw(oddNames) }];
      case 'more':
        return [event, { ...event, event: draw(oddNames), data: draw(oddData) }];
      default:
        return [event, ...voice.errorEvents(undefined, { message: 'no' }, { said, place: at }), event];
    }
  });
}

/** What may reach a client: whole events of its dialect and signs of life, each on lines of its own; and one good end, or one error. */
function grammarFaults(
  sent: string,
  client: Dialect,
  { isBroken, isCorrupt }: { readonly isBroken: boolean; readonly isCorrupt: boolean },
): string[] {
  const faults: string[] = [];
  const blocks = sent.split('\n\n');
  if (blocks.pop() !== '') faults.push('the last event is not whole');
  const names = namesOf[client.name];
  let ends = 0;
  let errors = 0;
  for (const block of blocks) {
    if (`${block}\n\n` === client.keepAlive) continue;
    const [, name, data] = /^(?:event: ?([^\n\r]+)\n)?data: ?([^\n\r]+)$/.exec(block) ?? [];
    if (data === undefined) {
      faults.push(`no event: ${JSON.stringify(block)}`);
      continue;
    }
    if (ends > 0) faults.push(`after the end: ${JSON.stringify(block)}`);
    if (names ? name === undefined || !names.test(name) : name !== undefined) faults.push(`named ${name}`);
    if (Buffer.byteLength(data) > responseEventBytesMax + 16) faults.push(`an event of ${data.length}`);
    const value = data === '[DONE]' ? undefined : parse(data);
    // What passes through is looked at, not parsed: a character that was changed in flight goes on.
    if (data !== '[DONE]' && !value && !isCorrupt) faults.push(`no JSON object: ${data.slice(0, 200)}`);
    if (data === '[DONE]' || endNames.has(name ?? '')) ends++;
    if (names ? name === 'error' : value?.error) errors++;
    else if (errors > 0) faults.push(`behind the error: ${JSON.stringify(block)}`);
  }
  if (isBroken && ends > 0) faults.push('a broken stream has its good end');
  if (isBroken !== errors > 0) faults.push(`${errors} errors are reported, broken: ${isBroken}`);
  if (!isBroken && ends !== 1) faults.push(`a whole stream has ${ends} ends`);
  return faults;
}

/** What cannot be read says nothing. */
function modelFaults(sent: string, { same: { headMember } }: Dialect): string[] {
  return sent.split('\n').flatMap((line) => {
    const value = line.startsWith('data:') ? parse(line.slice(5)) : undefined;
    const model = asRecord(headMember === undefined ? value : value?.[headMember])?.model;
    return model === undefined || model === asked ? [] : [`the model ${JSON.stringify(model)}`];
  });
}

const endNames: ReadonlySet<string> = new Set(['message_stop', 'response.completed', 'response.incomplete']);

/** Undefined: events without a name. */
const namesOf: Readonly<Record<DialectName, RegExp | undefined>> = {
  'openai-chat': undefined,
  'openai-completions': undefined,
  'openai-responses': /^(?:response(?:\.[a-z\d_]+)+|error)$/,
  'anthropic-messages': /^[a-z][a-z\d_]*$/,
};

function parse(data: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(data);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}

function usageFaults(usage: Usage | undefined): string[] {
  return Object.entries(usage ?? {}).flatMap(([kind, count]) =>
    Number.isSafeInteger(count) && Number(count) >= 0 ? [] : [`usage.${kind} is ${String(count)}`],
  );
}
