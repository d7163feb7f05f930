// How do pages read and write objects? By Kubernetes' own paths and bodies, of those few that are allowed here, with the person's token.

import type { FastifyInstance } from 'fastify';
import { type Door, isReading, sessionOf } from '../door.ts';
import { badBody, badParameter, DashboardError, notFound } from '../errors.ts';
import { judgeKubeCall } from '../guard/kube-paths.ts';
import type { KeyLists } from '../rows/key-lists.ts';

const prefix = '/api/kube';

export function addKubeRoutes(api: FastifyInstance, door: Door, keyLists: KeyLists): void {
  api.route({
    method: ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'],
    url: '/kube/*',
    async handler(request, reply) {
      const session = sessionOf(door, request);
      const mark = request.url.indexOf('?');
      const path = (mark === -1 ? request.url : request.url.slice(0, mark)).slice(prefix.length);
      const query = new URLSearchParams(mark === -1 ? '' : request.url.slice(mark));
      const judged = judgeKubeCall({ method: request.method, path, query, body: request.body });
      if (!judged.isAllowed) throw refusals[judged.why]();
      const answer = await door.parts.clusterOf(session).call(judged.call);
      // Users want to see their own change at once.
      if (!isReading(request)) keyLists.forget(session);
      return reply.status(answer.status).send(answer.body ?? {});
    },
  });
}

const refusals = {
  unknown: notFound,
  method: () =>
    new DashboardError(405, 'not_found', 'The dashboard does not allow this action; use kubectl.'),
  query: () =>
    badParameter('only dryRun=All, limit, continue and labelSelector are allowed, each where it applies'),
  body: () => badBody('The body is not an object of this kind.'),
} as const;
