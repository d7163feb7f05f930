// Which keys are on this page of the list? Searched, sorted and cut here, so that ten thousand of them are no burden on a phone.

import type { FastifyInstance } from 'fastify';
import type { KeyRowsAnswer } from '../api-types.ts';
import { ClusterRefusal } from '../cluster.ts';
import { type Door, sessionOf } from '../door.ts';
import { badParameter } from '../errors.ts';
import { isNamespace } from '../guard/kube-paths.ts';
import { choiceSchema, chooseRows } from '../rows/choose-rows.ts';
import type { KeyLists } from '../rows/key-lists.ts';

export function addRowsRoute(api: FastifyInstance, door: Door, keyLists: KeyLists): void {
  api.get('/rows/apikeys', async (request, reply): Promise<KeyRowsAnswer> => {
    const parsed = choiceSchema.safeParse(request.query);
    if (!parsed.success) {
      const [issue] = parsed.error.issues;
      throw badParameter(`${issue?.path.join('.') || 'query'}: ${issue?.message}`);
    }
    const { namespace } = parsed.data;
    if (namespace !== undefined && !isNamespace(namespace))
      throw badParameter('namespace: must be the name of a namespace, such as team-a');
    try {
      const { keys, ...more } = await keyLists.read(sessionOf(door, request), namespace);
      return { ...chooseRows(keys, parsed.data), ...more };
    } catch (error) {
      if (!(error instanceof ClusterRefusal)) throw error;
      return reply.status(error.answer.status).send(error.answer.body ?? {});
    }
  });
}
