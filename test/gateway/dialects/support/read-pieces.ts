// What does a reader of streams make of bytes, however they are cut?

import type { AnswerFacts } from '../../../../gateway/dialects/dialect.ts';

/** Something that is fed with the bytes of an upstream. */
export interface StreamReader<Out> {
  readonly facts: AnswerFacts;
  push(chunk: Buffer): Out;
  end(): Out;
}

interface Reading<Out> {
  readonly out: readonly Out[];
  readonly facts: AnswerFacts;
}

/** Feeds the pieces and ends; `out` is what every step gave. */
export function readPieces<Out>(reader: StreamReader<Out>, pieces: readonly Buffer[]): Reading<Out> {
  const out = pieces.map((piece) => reader.push(piece));
  return { out: [...out, reader.end()], facts: reader.facts };
}

/** What a client was sent. */
export function sentText({ out }: Reading<Buffer | undefined>): string {
  return Buffer.concat(out.filter((bytes) => bytes !== undefined)).toString('utf8');
}

export function cutAt(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const at = [...new Set(cuts.map((cut) => Math.min(cut, bytes.length)))].toSorted((a, b) => a - b);
  return [0, ...at].map((from, index) => bytes.subarray(from, at[index] ?? bytes.length));
}
