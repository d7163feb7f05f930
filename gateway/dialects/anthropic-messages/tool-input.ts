// A call's input as the object that messages wants.

import { isRecord, type JsonRecord, tryParseJson } from '../../json/record.ts';

/**
 * What is no object, perhaps because the answer was cut short, stays readable under a name that no
 * tool has: an empty object would be taken for a call without arguments, and run.
 */
export function toolInput(input: string): JsonRecord {
  if (input.trim() === '') return {};
  const value = tryParseJson(input);
  return isRecord(value) ? value : { _raw: input };
}
