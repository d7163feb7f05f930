// How do single top-level members of a JSON object change in its text, with the values of all others left as they are written?

import type { JsonRecord } from './record.ts';
import { JsonStructureError, scanMembers } from './scan-members.ts';

/**
 * @param text A JSON object as latin1 of its UTF-8 bytes.
 * @param value What it says.
 * @param changes A member that it lacks is put in first; one that is undefined is taken out.
 */
export function withMembers(text: string, value: JsonRecord, changes: JsonRecord): string {
  const changed = new Map(Object.entries(changes).map(([name, to]) => [name, memberText(name, to)]));
  try {
    const kept = scanMembers(text).members.map(({ name, start, valueEnd }) => {
      if (!changed.has(name)) return text.slice(start, valueEnd);
      const put = changed.get(name);
      changed.delete(name);
      return put;
    });
    return `{${[...changed.values(), ...kept].filter((member) => member !== undefined).join(',')}}`;
  } catch (error) {
    // A duplicate member, for instance: then the numbers are written in our own form.
    if (!(error instanceof JsonStructureError)) throw error;
    return toLatin1(JSON.stringify({ ...value, ...changes }));
  }
}

function memberText(name: string, value: unknown): string | undefined {
  return value === undefined ? undefined : toLatin1(`${JSON.stringify(name)}:${JSON.stringify(value)}`);
}

function toLatin1(text: string): string {
  return Buffer.from(text).toString('latin1');
}
