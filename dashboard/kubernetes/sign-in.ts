// Whose token is this? Kubernetes answers the holder of the token; the question needs no right.

import { z } from 'zod';
import type { KubeConnection } from '../../core/kube/connection.ts';
import { ClusterAway, type Person } from '../cluster.ts';
import type { Oidc, SignIn } from '../sign-in.ts';
import { callKubernetes } from './cluster.ts';

const reviewSchema = z.object({
  status: z.object({
    userInfo: z.object({ username: z.string().default(''), groups: z.array(z.string()).default([]) }),
  }),
});
const anonymous = 'system:anonymous';

export function kubernetesSignIn(connection: KubeConnection, oidc: Oidc | undefined): SignIn {
  async function personOf(token: string): Promise<Person | undefined> {
    const { status, body } = await callKubernetes(connection, token, {
      method: 'POST',
      path: '/apis/authentication.k8s.io/v1/selfsubjectreviews',
      body: { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' },
    });
    if (status === 401) return undefined;
    const person = reviewSchema.safeParse(body).data?.status.userInfo;
    if (status !== 201 || person === undefined)
      throw new ClusterAway(`the API server answered ${status} to the question whose token it is`);
    return person.username === '' || person.username === anonymous
      ? undefined
      : { name: person.username, groups: person.groups };
  }

  return {
    mode: 'kubernetes',
    tokenCommand: 'kubectl create token <serviceaccount> --namespace <namespace>',
    oidc,
    personOf,
    async admit(token) {
      const person = await personOf(token);
      return person && { person, token };
    },
  };
}
