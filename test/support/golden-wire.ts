// What of the wire is written down? The fixtures by dialect and behaviour, and what comes of each
// request of one dialect at an upstream of another, as one readable text.
//
//   test/fixtures/wire/<dialect>/<behaviour>.request.json            what a client sends
//                                <behaviour>.response.json           what an upstream answers
//                                <behaviour>.chunks.txt              the same, streamed
//                                <behaviour>.error.<status>.json     what it answers with an error status
//                      translated/<client>-from-<upstream>/<behaviour>.golden.txt
//
// An upstream that has no answer of its own for a behaviour gives the one for `text`; how that is
// streamed is in the golden for `text` only.
// PENSTOCK_UPDATE_GOLDEN=1 writes the goldens again, and the run fails; read the difference before you commit it.

import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type DialectName, dialectNameSchema } from '../../core/contract/routing-table.ts';
import { GatewayError } from '../../gateway/request/errors.ts';
import { errorBody, type StreamOutcome, type Through, translateThrough } from './translate-through.ts';

const folder = join(import.meta.dirname, '../fixtures/wire');
const translatedFolder = join(folder, 'translated');

export const dialectNames: readonly DialectName[] = dialectNameSchema.options;

export const isWritingGoldens = process.env.PENSTOCK_UPDATE_GOLDEN === '1';

/** What the upstream gives; the answers are absent where the behaviour is about an error only. */
export interface WireAnswers {
  readonly plain: Buffer | undefined;
  readonly streamed: Buffer | undefined;
  readonly error: { readonly status: number; readonly body: Buffer } | undefined;
  /** They are those for `text`. */
  readonly isBorrowed: boolean;
}

export interface WireCase {
  readonly client: DialectName;
  readonly upstream: DialectName;
  readonly behaviour: string;
}

/** What a client of this dialect can ask for. */
export function behavioursOf(client: DialectName): readonly string[] {
  return readdirSync(join(folder, client))
    .filter((file) => file.endsWith('.request.json'))
    .map((file) => file.slice(0, -'.request.json'.length))
    .sort();
}

export function wireCases(): readonly WireCase[] {
  return dialectNames.flatMap((client) =>
    dialectNames.flatMap((upstream) =>
      behavioursOf(client).map((behaviour) => ({ client, upstream, behaviour })),
    ),
  );
}

/** The request as the fixture has it, but for the members that ask for a stream. */
export function wireRequest(client: DialectName, behaviour: string, isStream: boolean): Buffer {
  const text = readFileSync(join(folder, client, `${behaviour}.request.json`), 'utf8');
  const { stream, ...request } = JSON.parse(text);
  if (!isStream) return Buffer.from(JSON.stringify(request));
  const hasUsageOption = client === 'openai-chat' || client === 'openai-completions';
  return Buffer.from(
    JSON.stringify({
      ...request,
      stream: true,
      ...(hasUsageOption ? { stream_options: { include_usage: true } } : {}),
    }),
  );
}

export function wireAnswers(upstream: DialectName, behaviour: string): WireAnswers {
  const files = readdirSync(join(folder, upstream));
  const mine = files.filter((file) => file.startsWith(`${behaviour}.`) && !file.endsWith('.request.json'));
  if (mine.length === 0) return { ...wireAnswers(upstream, 'text'), isBorrowed: true };
  const read = (file: string | undefined): Buffer | undefined =>
    file === undefined ? undefined : readFileSync(join(folder, upstream, file));
  const errorFile = mine.find((file) => file.startsWith(`${behaviour}.error.`));
  const errorBytes = read(errorFile);
  return {
    plain: read(mine.find((file) => file === `${behaviour}.response.json`)),
    streamed: read(mine.find((file) => file === `${behaviour}.chunks.txt`)),
    error: errorBytes && { status: Number(errorFile?.split('.').at(-2)), body: errorBytes },
    isBorrowed: false,
  };
}

/** The request to an upstream may depend on the name of its model. */
const upstreamModels: Readonly<Record<DialectName, string>> = {
  'openai-chat': 'gpt-5.5',
  'openai-completions': 'gpt-3.5-turbo-instruct',
  'openai-responses': 'gpt-5.5',
  'anthropic-messages': 'claude-sonnet-5',
};

const claudeCodeHeaders = { 'x-claude-code-session-id': '0199a213-81c0-7800-8aa1-bbab2a035a53' };

/** The case from end to end; the error where the gateway refuses the request. */
export function openCase(
  { client, upstream, behaviour }: WireCase,
  isStream: boolean,
): Through | GatewayError {
  try {
    const upstreamModel = upstreamModels[upstream];
    const headers = behaviour.startsWith('claude-code') ? claudeCodeHeaders : {};
    return translateThrough(client, upstream, wireRequest(client, behaviour, isStream), {
      upstreamModel,
      headers,
    });
  } catch (error) {
    if (error instanceof GatewayError) return error;
    throw error;
  }
}

/** Everything that comes of a case, as it is in its golden file. */
export function goldenText(wire: WireCase): string {
  const plain = openCase(wire, false);
  const title = `# ${wire.behaviour}: a client of ${wire.client} at an upstream of ${wire.upstream}`;
  const sections = plain instanceof GatewayError ? [refusal(wire, plain)] : exchange(wire, plain);
  return [title, ...sections.map(([name, text]) => `=== ${name}\n${text.trimEnd()}`), ''].join('\n\n');
}

type Section = readonly [name: string, text: string];

function refusal({ client }: WireCase, error: GatewayError): Section {
  return [`refused with ${error.status}`, pretty(errorBody(error, client))];
}

function exchange(wire: WireCase, plain: Through): readonly Section[] {
  const { client } = wire;
  const streamed = openCase(wire, true);
  if (streamed instanceof GatewayError) throw streamed;
  const answers = wireAnswers(wire.upstream, wire.behaviour);
  const sections: Section[] = plain.sent.map((body, call) => [
    plain.sent.length === 1 ? 'sent' : `sent, call ${call + 1}`,
    pretty(body.toString('utf8')),
  ]);
  sections.push(['sent otherwise for a stream', pretty(JSON.stringify(difference(plain, streamed)))]);
  if (plain.dropped.length > 0) sections.push(['dropped', plain.dropped.join('\n')]);
  if (answers.error) {
    sections.push(failure(client, 'error', plain.refuse(answers.error.status, answers.error.body)));
  }
  const { plain: body, streamed: chunks } = answers;
  if (body) {
    const outcome = plain.plain(() => body);
    sections.push(
      outcome.type === 'answered'
        ? ['answer', pretty(outcome.body.toString('utf8'))]
        : failure(client, 'answer', outcome.error),
    );
  }
  if (chunks && !answers.isBorrowed)
    sections.push(
      streamSection(
        client,
        streamed.stream(() => [chunks]),
      ),
    );
  return sections;
}

function streamSection(client: DialectName, outcome: StreamOutcome): Section {
  switch (outcome.type) {
    case 'answered':
      return ['streamed answer', outcome.text];
    case 'broken-off':
      return ['streamed answer, broken off', outcome.text];
    case 'failed':
      return failure(client, 'streamed answer', outcome.error);
  }
}

function failure(client: DialectName, what: string, error: GatewayError): Section {
  return [`${what}: failed with ${error.status}`, pretty(errorBody(error, client))];
}

/** Top-level members of the first call that a stream changes. */
function difference(plain: Through, streamed: Through): Record<string, unknown> {
  const [before, after] = [plain, streamed].map(({ sent }) => JSON.parse(sent[0]?.toString('utf8') ?? '{}'));
  return Object.fromEntries(
    Object.entries(after).filter(([name, value]) => JSON.stringify(before[name]) !== JSON.stringify(value)),
  );
}

function pretty(json: string): string {
  return JSON.stringify(JSON.parse(json), null, 2);
}

export function goldenPath({ client, upstream, behaviour }: WireCase): string {
  return join(translatedFolder, `${client}-from-${upstream}`, `${behaviour}.golden.txt`);
}

/** Empty where there is none. */
export function readGolden(path: string): string {
  return existsSync(path) ? readFileSync(path, 'utf8') : '';
}

export function writeGolden(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

/** Answers to what no client asks for. */
export function strayAnswers(): readonly string[] {
  const asked = new Set(dialectNames.flatMap(behavioursOf));
  return dialectNames.flatMap((upstream) =>
    readdirSync(join(folder, upstream))
      .filter((file) => !asked.has(file.slice(0, file.indexOf('.'))))
      .map((file) => join(upstream, file)),
  );
}

/** Files that no case represents. */
export function strayGoldens(): readonly string[] {
  const known = new Set(wireCases().map(goldenPath));
  if (!existsSync(translatedFolder)) return [];
  return readdirSync(translatedFolder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => !known.has(path));
}

export function removeGoldens(paths: readonly string[]): void {
  for (const path of paths) rmSync(path);
}
