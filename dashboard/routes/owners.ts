// Which owners' keys were used most? The ledger knows the use of each key; owners and teams come from the ApiKeys that this user may list.

import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import type { OwnersAnswer } from '../api-types.ts';
import { ClusterRefusal } from '../cluster.ts';
import { type Door, sessionOf } from '../door.ts';
import { badParameter, olderLedger } from '../errors.ts';
import { isNamespace } from '../guard/kube-paths.ts';
import type { KeyLists } from '../rows/key-lists.ts';
import { type KeySum, ownersOf } from '../rows/owners-of.ts';
import { askLedger } from './ledger.ts';

const questionSchema = z.strictObject({
  namespace: z.string().refine(isNamespace, 'must be the name of a namespace, such as team-a').optional(),
  from: z.string().max(40),
  to: z.string().max(40),
  topBy: z.enum(['cost', 'tokens', 'requests']).default('cost'),
});

/** Of a key: its name, requests, tokens in and out, dollars. */
const usesSchema = z.object({
  rows: z.array(z.tuple([z.string(), z.number(), z.number(), z.number(), z.string()])),
  next: z.number().optional(),
});

/** Rows of one answer of the ledger, and so many of them. */
const pageMax = '10000';
const pagesMax = 5;

export function addOwnersRoute(api: FastifyInstance, door: Door, keyLists: KeyLists): void {
  api.get('/owners', async (request, reply): Promise<OwnersAnswer> => {
    const parsed = questionSchema.safeParse(request.query);
    if (!parsed.success) {
      const [issue] = parsed.error.issues;
      throw badParameter(`${issue?.path.join('.') || 'query'}: ${issue?.message}`);
    }
    const { namespace, from, to, topBy } = parsed.data;
    const session = sessionOf(door, request);
    const sums: KeySum[] = [];
    let offset: number | undefined = 0;
    for (let page = 0; page < pagesMax && offset !== undefined; page += 1) {
      const search = new URLSearchParams({
        ...(namespace === undefined ? {} : { namespace }),
        ...{ from, to, limit: pageMax, offset: String(offset) },
      });
      const { status, text } = await askLedger(door, reply.raw, {
        method: 'GET',
        path: '/v1/uses',
        search: `?${search}`,
        token: session.token,
      });
      if (status === 404) throw olderLedger();
      if (status !== 200) return reply.status(status).type('application/json').send(text);
      const answer: z.infer<typeof usesSchema> = usesSchema.parse(JSON.parse(text));
      for (const [apiKey, requests, input, output, costUsd] of answer.rows)
        sums.push({ apiKey, requests, tokens: { input, output }, costUsd });
      offset = answer.next;
    }
    try {
      const { keys } = await keyLists.read(session, namespace);
      return ownersOf(sums, keys, topBy);
    } catch (error) {
      if (!(error instanceof ClusterRefusal)) throw error;
      return reply.status(error.answer.status).send(error.answer.body ?? {});
    }
  });
}
