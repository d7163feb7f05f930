// By which words is an ApiKey found that its row does not show? By its own name for people, all that its owner is called, and the hint of each key it stands for.

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
