// Words beyond its row that find an ApiKey: its display name, all names of its owner, and the hint of each active secret.

import { z } from 'zod';

const text = z.string().catch('');
const wordsSchema = z.object({
  spec: z.object({
    displayName: text,
    owner: z.object({ name: text, email: text, team: text }).catch({ name: '', email: '', team: '' }),
    imports: z.array(z.object({ hint: text })).catch([]),
  }),
});

/** Of whatever an object holds. */
export function wordsOfKey(object: unknown): string {
  const { data } = wordsSchema.safeParse(object);
  if (data === undefined) return '';
  const { displayName, owner, imports } = data.spec;
  const { name, email, team } = owner;
  return [displayName, name, email, team, ...imports.map(({ hint }) => hint)].join('\n').toLowerCase();
}
