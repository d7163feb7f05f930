// Does every client still get from every upstream what we once read and found right? The data lies in
// test/fixtures/wire; how it is named, and how the goldens are written again, is in golden-wire.ts.

import { join, relative } from 'node:path';
import { describe, expect, test } from 'vitest';
import { GatewayError } from '../../../gateway/request/errors.ts';
import {
  behavioursOf,
  dialectNames,
  goldenPath,
  goldenText,
  isWritingGoldens,
  openCase,
  readGolden,
  removeGoldens,
  strayAnswers,
  strayGoldens,
  type WireCase,
  wireAnswers,
  writeGolden,
} from '../../support/golden-wire.ts';
import { rebuildAnswer, withoutNulls } from '../../support/rebuild-answer.ts';
import { cutStep } from '../../support/runs.ts';
import type { StreamOutcome, Through } from '../../support/translate-through.ts';

const root = join(import.meta.dirname, '../../..');
const pairs = dialectNames.flatMap((client) => dialectNames.map((upstream) => ({ client, upstream })));

describe.each(pairs)('$client from $upstream', ({ client, upstream }) => {
  const cases = behavioursOf(client).map((behaviour) => ({ client, upstream, behaviour }));

  test.each(cases)('$behaviour is as written down', (wire) => {
    const path = goldenPath(wire);
    const text = goldenText(wire);
    if (isWritingGoldens) writeGolden(path, text);
    expect(text, `differs from ${relative(root, path)}`).toBe(readGolden(path));
  });

  test.each(cases.filter(isAnswered))('$behaviour says the same in a stream as in a plain answer', (wire) => {
    const { plain = nothing, streamed = nothing } = wireAnswers(upstream, wire.behaviour);
    const whole = through(wire, false).plain(() => plain);
    const pieces = through(wire, true).stream(() => [streamed]);
    if (whole.type !== 'answered' || pieces.type !== 'answered') throw new Error('not answered');
    const unsaid = [
      // Stream parts do not carry it.
      ...(client === upstream ? [] : ['service_tier']),
      // The gateway has cut the stream short, and let the upstream go before it counted.
      ...(pieces.facts.some(({ isCut }) => isCut) ? ['usage'] : []),
    ];
    const answer = withoutNulls(JSON.parse(whole.body.toString('utf8')));
    expect(without(rebuildAnswer(client, pieces.text), unsaid)).toEqual(without(answer, unsaid));
  });

  test.each(cases.filter(isStreamed))('$behaviour reads the same, however the network cuts it', (wire) => {
    const { streamed: bytes = nothing } = wireAnswers(upstream, wire.behaviour);
    const opened = through(wire, true);
    const read = (...pieces: Buffer[]): string => reported(opened.stream(() => pieces));
    const whole = read(bytes);
    expect(read(...[...bytes].map((byte) => Buffer.of(byte)))).toBe(whole);
    // Byte by byte was every place at once; halves at every place would only take longer.
    for (let at = 1; at < bytes.length; at += cutStep(7)) {
      const halves = read(bytes.subarray(0, at), bytes.subarray(at));
      if (halves !== whole) expect(halves, `cut at ${at}`).toBe(whole);
    }
  });
});

test('every golden file has a case', () => {
  if (isWritingGoldens) removeGoldens(strayGoldens());
  expect(strayGoldens()).toEqual([]);
});

test('every answer has a client that asks for it', () => {
  expect(strayAnswers()).toEqual([]);
});

test('the goldens are compared in this run, not written', () => {
  expect(isWritingGoldens, 'run again without PENSTOCK_UPDATE_GOLDEN').toBe(false);
});

function through(wire: WireCase, isStream: boolean): Through {
  const opened = openCase(wire, isStream);
  if (opened instanceof GatewayError) throw opened;
  return opened;
}

function isCarried(wire: WireCase): boolean {
  try {
    return !(openCase(wire, true) instanceof GatewayError);
  } catch {
    // Its test is the place to say so.
    return true;
  }
}

function isAnswered(wire: WireCase): boolean {
  const { plain, streamed } = wireAnswers(wire.upstream, wire.behaviour);
  return plain !== undefined && streamed !== undefined && isCarried(wire);
}

function isStreamed(wire: WireCase): boolean {
  return wireAnswers(wire.upstream, wire.behaviour).streamed !== undefined && isCarried(wire);
}

const nothing = Buffer.alloc(0);

function without(answer: unknown, names: readonly string[]): unknown {
  return Object.fromEntries(Object.entries(Object(answer)).filter(([name]) => !names.includes(name)));
}

/** All that the client is reported, as text. */
function reported(outcome: StreamOutcome): string {
  const text = outcome.type === 'failed' ? '' : outcome.text;
  const error = outcome.type === 'answered' ? '' : JSON.stringify(outcome.error.toErrorObject('openai'));
  return `${outcome.type} ${text} ${error}`;
}
