// A call's input as the object that messages wants.

import { parseJson } from '../../../core/parse-json.ts';
import { isRecord, type JsonRecord } from '../../json/record.ts';
import { JsonText } from '../../json/write-json.ts';

/**
 * What is no object, perhaps because the answer was cut short, stays readable under a name that no
 * tool has: an empty object would be taken for a call without arguments, and run.
 */
export function toolInput(input: string): JsonRecord | JsonText {
  if (input.trim() === '') return {};
  return isRecord(parseJson(input)) ? new JsonText(input) : { _raw: input };
}
