// What did an upstream answer in one piece? A JSON object, an error in place of one, or neither.

import { asRecord, type JsonRecord, tryParseJson } from '../../json/record.ts';
import type { AnswerFault, UpstreamError } from '../dialect.ts';
import { malformed } from './malformed.ts';

type ReadAnswer =
  | { readonly ok: true; readonly answer: JsonRecord }
  | { readonly ok: false; readonly fault: AnswerFault };

/** @param readError The error that an object holds; undefined where it holds none. */
export function readAnswer(
  body: Buffer,
  readError: (answer: JsonRecord) => UpstreamError | undefined,
): ReadAnswer {
  const answer = asRecord(tryParseJson(body.toString('utf8')));
  if (!answer) return malformed('the answer is not a JSON object');
  const error = readError(answer);
  return error ? { ok: false, fault: { kind: 'error-event', error } } : { ok: true, answer };
}
