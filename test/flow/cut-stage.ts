// Where are streams cut? One gateway, one wall, and a model for each pair of a client's dialect and an upstream's. Each stream
// has a number, which its prompt names; seed and number alone say where, how and at what pace its provider breaks off.
//
// Whether a provider broke off before its answer was whole is reported by the wall's log, not by what was asked of it.

import type { DialectName, ProviderEntry } from '../../core/contract/routing-table.ts';
import type { Address, Reading, StreamReader } from '../conformance/stream-readers.ts';
import { type Rig, startRig, tableOf } from '../gateway/rig.ts';
import { rawCall } from '../support/raw-client.ts';
import { makeRandom } from '../support/wall/split.ts';
import { type Behaviour, type Call, startWall, type Wall } from '../support/wall.ts';
import { type AskOptions, endsWell, errorOf, isBag, portOf, requestOf, textOf, wallText } from './ask.ts';

/** How a provider's connection ends: a FIN in each framing, a reset, a FIN between a chunk's length and its end. */
const cutKinds = ['chunked', 'close', 'content-length', 'reset', 'in-the-framing'] as const;

export interface CutStage {
  readonly rig: Rig;
  readonly wall: Wall;
  readonly address: Address;
  /** The model that is served in this dialect's words by an upstream of that one. */
  model(client: DialectName, upstream: DialectName): string;
  /** Whether the wall broke off before the answer of this stream was whole. @throws For a stream it was never asked for. */
  wasCut(number: number): Promise<boolean>;
  close(): Promise<void>;
}

function promptOf(number: number): string {
  return `stream ${String(number).padStart(6, '0')}`;
}

/** The last event without which an answer is half of one, as far as its JSON reaches. */
const markers: Readonly<Record<string, RegExp>> = {
  'openai-chat': /^data: .*"finish_reason":"stop".*$/m,
  'openai-completions': /^data: .*"finish_reason":"stop".*$/m,
  'anthropic-messages': /^data: .*"stop_reason":"end_turn".*$/m,
  'openai-responses': /^data: .*"type":"response.completed".*$/m,
};

/** How long the whole answer is, and where its marker ends: of the body, and of all bytes with chunked framing. */
interface Lengths {
  readonly body: number;
  readonly bodyMarker: number;
  readonly wire: number;
  readonly wireMarker: number;
}

export async function startCutStage(pairs: readonly Pair[], seed: number): Promise<CutStage> {
  const wall = await startWall();
  const rig = await startRig(tableFor(pairs, wall.baseUrl), { random: () => 0 });
  const lengths = new Map<string, Lengths>();
  const calls = new Map<number, Call>();
  wall.script((call): Behaviour => {
    const number = numberOf(call);
    const measured = lengths.get(modelOf(call));
    if (!measured || number === undefined) return { type: 'answer', ...sameAnswer };
    calls.set(number, call);
    return drawCut(measured, makeRandom(seed + number * 7919));
  });
  for (const [client, upstream] of pairs) {
    const model = pairName(client, upstream);
    lengths.set(model, await measure(rig, wall, client, model));
  }
  return {
    rig,
    wall,
    address: rig,
    model: pairName,
    async wasCut(number) {
      const call = calls.get(number);
      if (!call) throw new Error(`the wall was never asked for stream ${number}`);
      await call.finished;
      const measured = lengths.get(modelOf(call));
      if (!measured || call.end === undefined) throw new Error(`stream ${number} was not measured`);
      const isInFraming = call.behaviour?.type === 'cut' && 'wireBytes' in call.behaviour.after;
      return isInFraming
        ? call.bytesWritten < measured.wireMarker
        : call.bodyBytesWritten < measured.bodyMarker;
    },
    async close() {
      await rig.close();
      await wall.close();
    },
  };
}

/** What came of a number of streams. */
export interface CutTally {
  tried: number;
  /** How many the wall broke off before they were whole; those cut behind that are no fault. */
  cut: number;
  whole: number;
  /** Of those that were raised: behind content. */
  brokenOff: number;
  readonly wrong: string[];
}

export function newTally(): CutTally {
  return { tried: 0, cut: 0, whole: 0, brokenOff: 0, wrong: [] };
}

/** Reads streams with the numbers from `first` on and adds what came of them. */
export async function readCutStreams(
  stage: CutStage,
  { dialect, read }: Pick<StreamReader, 'dialect' | 'read'>,
  upstream: DialectName,
  numbers: { readonly first: number; readonly count: number; readonly atOnce: number },
  tally: CutTally,
): Promise<void> {
  const model = stage.model(dialect, upstream);
  let next = numbers.first;
  const worker = async (): Promise<void> => {
    while (next < numbers.first + numbers.count) {
      const number = next++;
      await judge(stage, number, await read(stage.address, model, promptOf(number)), tally);
    }
  };
  await Promise.all(Array.from({ length: numbers.atOnce }, worker));
}

/** Adds what came of one stream. */
export async function judge(
  stage: CutStage,
  number: number,
  reading: Reading,
  tally: CutTally,
): Promise<void> {
  const wasCut = await stage.wasCut(number);
  const wrong = judgeReading(reading, wasCut);
  tally.tried++;
  if (wasCut) tally.cut++;
  if (reading.end === 'whole') tally.whole++;
  else if (reading.text !== '') tally.brokenOff++;
  if (wrong !== undefined) tally.wrong.push(`stream ${number}: ${wrong}`);
}

/**
 * Without an SDK. Whole is what ends as its framing says; raised what does not, or has another status than 200, and
 * then an error must be reported in it.
 */
export function rawReader(dialect: DialectName): Pick<StreamReader, 'dialect' | 'read'> {
  return {
    dialect,
    async read({ url }, model, prompt) {
      const answer = await rawCall({ port: portOf({ url }) }, streamRequest(dialect, model, prompt));
      const text = textOf(answer);
      if (answer.status === 200 && answer.ending === 'last-chunk' && endsWell(answer))
        return { end: 'whole', message: '', text };
      const error = errorOf(answer);
      const isToldInside =
        answer.ending === 'fin-early' && answer.unfinishedEvent === '' && !endsWell(answer);
      if (!error || (answer.status === 200 && !isToldInside)) {
        throw new Error(`${answer.status}, ended by ${answer.ending}: ${answer.text}`);
      }
      return { end: 'raised', message: error.message, text };
    },
  };
}

export type Pair = readonly [client: DialectName, upstream: DialectName];

/** What is wrong with how a stream was read; undefined: nothing. */
function judgeReading({ end, message, text }: Reading, wasCut: boolean): string | undefined {
  if (wasCut && end === 'whole') return `a cut stream was taken for a whole one: ${JSON.stringify(text)}`;
  if (end === 'whole' && text !== wallText) return `a whole answer is another: ${JSON.stringify(text)}`;
  if (!wallText.startsWith(text))
    return `what was read is not how the answer begins: ${JSON.stringify(text)}`;
  // What is reported before any content is reported by the status.
  if (end === 'raised' && text !== '' && !message.includes('broke off'))
    return `it was raised in other words than the gateway's: ${message}`;
  return undefined;
}

function pairName(client: DialectName, upstream: DialectName): string {
  return `${client}-on-${upstream}`;
}

function tableFor(pairs: readonly Pair[], baseUrl: string) {
  // Thousands of failures, none of which may be answered for the provider by its breaker.
  const providerEntry: Partial<ProviderEntry> = {
    breaker: { consecutiveFailures: 0, openForMs: 1, maxOpenMs: 1, rateLimitCooldownMs: 1 },
  };
  const tables = pairs.map(([client, upstream]) => {
    const name = pairName(client, upstream);
    const dialects = [upstream];
    return tableOf(
      [
        {
          baseUrl,
          provider: `platform/${name}`,
          providerEntry: { ...providerEntry, dialects },
          dialects,
          upstreamModel: name,
        },
      ],
      { id: `team/${name}`, model: name },
    );
  });
  return {
    ...tableOf([]),
    providers: tables.flatMap(({ providers }) => providers),
    routes: tables.flatMap(({ routes }) => routes),
  };
}

/** The same bytes whichever call it is. */
const sameAnswer = { id: 'one', headers: { 'x-request-id': 'one' } };

/** One stream by the gateway, so that the wall is asked as it will be; then the same of the wall, to see its bytes. */
async function measure(rig: Rig, wall: Wall, client: DialectName, model: string): Promise<Lengths> {
  await rawCall({ port: portOf(rig) }, streamRequest(client, model, promptOf(0)));
  const call = wall.calls.at(-1);
  if (!call || modelOf(call) !== model) throw new Error(`the wall was not asked for ${model}`);
  const seen = await rawCall({ port: wall.port }, { path: call.path, body: call.bodyText });
  const marker = markers[call.voice ?? '']?.exec(seen.text);
  if (!marker) throw new Error(`${model}: the wall's answer has no end: ${seen.text}`);
  const bodyMarker = Buffer.byteLength(seen.text.slice(0, marker.index + marker[0].length));
  const pieces = seen.pieces.map(({ bytes }) => bytes.length);
  const framed = (length: number): number => length.toString(16).length + 4 + length;
  const body = total(pieces);
  const wire = call.bytesWritten;
  const head = wire - total(pieces.map(framed)) - '0\r\n\r\n'.length;
  return { body, bodyMarker, wire, wireMarker: head + wirePlace(pieces, bodyMarker, framed) };
}

/** How many bytes of chunks it takes until this many bytes of the body have come. */
function wirePlace(pieces: readonly number[], bodyBytes: number, framed: (length: number) => number): number {
  let left = bodyBytes;
  let wire = 0;
  for (const length of pieces) {
    if (left <= length) return wire + framed(length) - length - 2 + left;
    left -= length;
    wire += framed(length);
  }
  throw new Error('the body is shorter');
}

function drawCut(lengths: Lengths, random: () => number): Behaviour {
  const below = (length: number): number => Math.floor(random() * length);
  const kind = cutKinds[below(cutKinds.length)] ?? 'close';
  // All at once; or in pieces that come one by one, so that the end comes on its own.
  const pace = random() < 0.5 ? {} : { trickle: { bytes: 150 + below(1_000), everyMs: 1 } };
  if (kind === 'in-the-framing') {
    return { type: 'cut', after: { wireBytes: below(lengths.wire) }, framing: 'chunked', answer: sameAnswer };
  }
  const after = { bytes: below(lengths.body) };
  const answer = { ...sameAnswer, ...pace };
  return kind === 'reset' ? { type: 'reset', after, answer } : { type: 'cut', after, framing: kind, answer };
}

function streamRequest(client: DialectName, model: string, prompt: string) {
  const messages = [{ role: 'user', content: prompt }];
  const asking = {
    'openai-chat': { endpoint: 'chat', more: { messages } },
    'openai-completions': { endpoint: 'completions', more: { prompt } },
    'openai-responses': { endpoint: 'responses', more: { input: prompt } },
    'anthropic-messages': { endpoint: 'messages', more: { messages } },
  } as const satisfies Record<DialectName, AskOptions>;
  const { endpoint, more } = asking[client];
  return requestOf({ endpoint, isStream: true, more: { ...more, model } });
}

function modelOf({ json }: Call): string {
  return isBag(json) ? String(json.model) : '';
}

function numberOf({ bodyText }: Call): number | undefined {
  const [, digits] = /stream (\d{6})/.exec(bodyText) ?? [];
  return digits === undefined ? undefined : Number(digits);
}

function total(lengths: readonly number[]): number {
  return lengths.reduce((sum, length) => sum + length, 0);
}
