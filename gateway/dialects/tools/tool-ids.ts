// Does the id that links a tool call with its result fit an upstream? It goes through as it is, or
// is changed in the same way on both sides.

import { hash } from 'node:crypto';
import type { Conversation } from '../conversation.ts';

/** The id for the upstream of each id in the conversation. */
export function fitToolIds({ turns }: Conversation, lengthMax: number): (id: string) => string {
  const fitted = new Map<string, string>();
  const taken = new Set<string>();
  const ids = turns.flatMap(({ parts }) =>
    parts.flatMap((part) => (part.type === 'tool-call' || part.type === 'tool-result' ? [part.id] : [])),
  );
  // Valid ids stay, also if a changed id would have become the same.
  for (const id of ids) if (fits(id, lengthMax)) taken.add(id);
  return (id) => {
    if (fits(id, lengthMax)) return id;
    let known = fitted.get(id);
    if (known === undefined) {
      known = squeeze(id, lengthMax, taken);
      fitted.set(id, known);
      taken.add(known);
    }
    return known;
  };
}

function fits(id: string, lengthMax: number): boolean {
  return id.length <= lengthMax && /^[A-Za-z0-9_-]+$/.test(id);
}

function squeeze(id: string, lengthMax: number, taken: ReadonlySet<string>): string {
  const clean = id.replace(/[^A-Za-z0-9_-]/g, '_');
  if (clean !== '' && clean.length <= lengthMax && !taken.has(clean)) return clean;
  for (let round = 0; ; round++) {
    const mark = hash('sha256', `${round} ${id}`, 'hex').slice(0, 8);
    const candidate = `${clean.slice(0, lengthMax - 9) || 'call'}_${mark}`;
    if (!taken.has(candidate)) return candidate;
  }
}
