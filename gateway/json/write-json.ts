// A value as JSON text that every parser accepts: without lone surrogates. Parts that are JSON text already are
// inserted unchanged.

import { isRecord } from './record.ts';
import { wellFormedJson } from './well-formed.ts';

/** Valid JSON that is inserted unchanged, with its numbers and order. */
export class JsonText {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** As `JSON.stringify` of plain data. */
export function writeJson(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.toWellFormed());
  if (value instanceof JsonText) return wellFormedJson(value.text);
  if (Array.isArray(value)) return `[${value.map((entry) => writeJson(entry ?? null)).join(',')}]`;
  if (!isRecord(value)) return JSON.stringify(value);
  let members = '';
  for (const name of Object.keys(value)) {
    const member = value[name];
    if (member === undefined) continue;
    members += `${members === '' ? '' : ','}${writeJson(name)}:${writeJson(member)}`;
  }
  return `{${members}}`;
}
