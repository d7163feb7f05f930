// What may this person do, so that pages can show a button as it is? Kubernetes is asked in their own name, right by right.

import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import type { Right, RightName, RightsAnswer } from '../api-types.ts';
import { type Door, sessionOf } from '../door.ts';
import { badBody } from '../errors.ts';
import { isNamespace, RIGHTS, rightInWords } from '../guard/kube-paths.ts';
import { mayDo } from '../guard/may-do.ts';

const bodySchema = z.strictObject({ namespace: z.string().refine(isNamespace).nullable() });
/** Questions in flight for one person. */
const atOnce = 6;

export function addRightsRoute(api: FastifyInstance, door: Door): void {
  api.post('/rights', async (request): Promise<RightsAnswer> => {
    const body = bodySchema.safeParse(request.body);
    if (!body.success)
      throw badBody('Send {"namespace": "…"} with the name of a namespace, or null for all.');
    const { namespace } = body.data;
    const cluster = door.parts.clusterOf(sessionOf(door, request));
    const left = [...RIGHTS];
    const found = new Map<RightName, Right>();
    async function askSome(): Promise<void> {
      for (let right = left.shift(); right !== undefined; right = left.shift()) {
        const allowed = await mayDo(cluster, right, namespace);
        found.set(right, { allowed, missing: allowed ? null : rightInWords(right, namespace) });
      }
    }
    await Promise.all(Array.from({ length: atOnce }, askSome));
    return { rights: Object.fromEntries(found) as Record<RightName, Right> };
  });
}
