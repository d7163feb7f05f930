// What did an upstream answer in one piece? A JSON object, an error in place of one, or neither.

import { parseJson } from '../../../core/parse-json.ts';
import { asRecord, type JsonRecord } from '../../json/record.ts';
import {
  checkStructure,
  JsonStructureError,
  type StructureLimits,
  structureLimits,
} from '../../json/scan-members.ts';
import type { AnswerFault, UpstreamError } from '../dialect.ts';
import { describeBody } from './describe-body.ts';
import { malformed, tooLarge } from './malformed.ts';

type ReadAnswer =
  | { readonly ok: true; readonly answer: JsonRecord }
  | { readonly ok: false; readonly fault: AnswerFault };

/** @param readError The error that an object holds; undefined if it holds none. */
export function readAnswer(
  body: Buffer,
  readError: (answer: JsonRecord) => UpstreamError | undefined,
): ReadAnswer {
  const flaw = body.length <= scannedBytesMin ? undefined : findBomb(body.toString('latin1'));
  if (flaw !== undefined) return flaw;
  const answer = asRecord(parseJson(body.toString('utf8')));
  if (!answer) return malformed(`the answer is not a JSON object: ${describeBody(body)}`);
  const error = readError(answer);
  return error ? { ok: false, fault: { kind: 'error-event', error } } : { ok: true, answer };
}

/**
 * Answers may be denser than requests: log probabilities hold a structural character every five bytes. These bounds let twenty of them
 * through for each of 3,000 tokens, and what they let through takes some 50 MB of heap at most (docs/decisions/0032).
 */
export const answerLimits: StructureLimits = {
  depthMax: structureLimits.depthMax,
  tokensMax: 1_000_000,
  denseBytesMin: Number.POSITIVE_INFINITY,
  bytesPerToken: 1,
};

/** Smaller answers are not scanned, because parsing them is cheap whatever they hold. */
const scannedBytesMin = 4 * 1024;

/** The fault of JSON that would take too much time or memory to parse. */
export function findBomb(text: string): ReturnType<typeof tooLarge> | undefined {
  try {
    checkStructure(text, answerLimits);
    return undefined;
  } catch (error) {
    if (!(error instanceof JsonStructureError)) throw error;
    const { depthMax, tokensMax } = answerLimits;
    return error.isOverLimit
      ? tooLarge(
          `it has more than ${tokensMax} structural characters, or nests deeper than ${depthMax} levels`,
        )
      : malformed(
          `the answer is not a JSON object: ${describeBody(Buffer.from(text.slice(0, 64), 'latin1'))}`,
        );
  }
}
