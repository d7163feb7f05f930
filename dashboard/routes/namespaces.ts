// Which namespaces can a person choose from? All, where they may list them; else that of their own token.

import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import type { NamespacesAnswer } from '../api-types.ts';
import { ClusterAway } from '../cluster.ts';
import { type Door, sessionOf } from '../door.ts';
import { notSignedIn } from '../errors.ts';
import { namespaceOf } from '../session/session.ts';

const listSchema = z.object({
  metadata: z.object({ continue: z.string().optional() }),
  items: z.array(z.object({ metadata: z.object({ name: z.string() }) })).nullish(),
});
/** A longer list is useless for choosing; a name can be typed instead. */
const namespacesMax = 5_000;

export function addNamespacesRoute(api: FastifyInstance, door: Door): void {
  api.get('/namespaces', async (request): Promise<NamespacesAnswer> => {
    const session = sessionOf(door, request);
    const cluster = door.parts.clusterOf(session);
    const namespaces: string[] = [];
    let position: string | undefined;
    do {
      const { status, body } = await cluster.call({
        method: 'GET',
        path: '/api/v1/namespaces',
        query: { limit: '500', continue: position },
      });
      if (status === 401) throw notSignedIn();
      if (status === 403) {
        const person = await door.parts.signIn.personOf(session.token);
        const own = namespaceOf(person?.name ?? '');
        return { namespaces: own === null ? [] : [own], isComplete: false };
      }
      const page = listSchema.safeParse(body).data;
      if (status !== 200 || page === undefined)
        throw new ClusterAway(`the list of namespaces was answered with ${status}`);
      namespaces.push(...(page.items ?? []).map(({ metadata }) => metadata.name));
      position = page.metadata.continue || undefined;
    } while (position !== undefined && namespaces.length < namespacesMax);
    return { namespaces, isComplete: position === undefined };
  });
}
