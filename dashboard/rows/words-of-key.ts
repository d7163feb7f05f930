// By which words is an ApiKey found that its row does not show? By all that its owner is called, and by the hint of each key it stands for.

import { z } from 'zod';

const text = z.string().catch('');
const wordsSchema = z.object({
  spec: z.object({
    owner: z.object({ name: text, email: text, team: text }).catch({ name: '', email: '', team: '' }),
    imports: z.array(z.object({ hint: text })).catch([]),
  }),
});

/** Of whatever an object holds. */
export function wordsOfKey(object: unknown): string {
  const { data } = wordsSchema.safeParse(object);
  if (data === undefined) return '';
  const { owner, imports } = data.spec;
  return [owner.name, owner.email, owner.team, ...imports.map(({ hint }) => hint)].join('\n').toLowerCase();
}
