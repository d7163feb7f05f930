// May this person do that, and may they still? Kubernetes is asked in their own name.

import { z } from 'zod';
import type { Clock } from '../../core/clock.ts';
import { wait } from '../../core/kube/wait.ts';
import type { RightName } from '../api-types.ts';
import { type Cluster, ClusterAway } from '../cluster.ts';
import { DashboardError, notSignedIn } from '../errors.ts';
import { partsOfRight } from './kube-paths.ts';

const askedAgainMs = 10_000;
const reviewSchema = z.object({
  status: z.object({ allowed: z.boolean().default(false), evaluationError: z.string().optional() }),
});

/** @param namespace null: all of them. @throws {ClusterAway}; 401 where their token is not known. */
export async function mayDo(cluster: Cluster, right: RightName, namespace: string | null): Promise<boolean> {
  return (await review(cluster, right, namespace)) === 'yes';
}

/** @returns unsure: no authorizer allowed it, and one of them, such as a webhook, did not answer. */
async function review(
  cluster: Cluster,
  right: RightName,
  namespace: string | null,
): Promise<'yes' | 'no' | 'unsure'> {
  const { status, body } = await cluster.call({
    method: 'POST',
    path: '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews',
    body: {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SelfSubjectAccessReview',
      // Without a namespace: in all of them.
      spec: { resourceAttributes: { ...partsOfRight(right), ...(namespace === null ? {} : { namespace }) } },
    },
  });
  if (status === 401) throw notSignedIn();
  // A user without the right to ask has no rights.
  if (status === 403) return 'no';
  const answer = reviewSchema.safeParse(body).data;
  if (status !== 201 || answer === undefined)
    throw new ClusterAway(`a question for rights was answered with ${status}`);
  const { allowed, evaluationError } = answer.status;
  if (allowed) return 'yes';
  return evaluationError ? 'unsure' : 'no';
}

/** Settled when the right is gone, or the token is not known any more; false where the signal came before. */
export async function isTakenAway(
  cluster: Cluster,
  right: RightName,
  namespace: string | null,
  clock: Clock,
  signal: AbortSignal,
): Promise<boolean> {
  for (;;) {
    await wait(clock, askedAgainMs, signal);
    if (signal.aborted) return false;
    try {
      // If the answer is unsure or missing, the last answer holds until the next question.
      if ((await review(cluster, right, namespace)) === 'no') return true;
    } catch (error) {
      if (error instanceof DashboardError) return true;
    }
  }
}
