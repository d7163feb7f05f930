// Authenticates callers and authorizes them by their rights in Kubernetes: the right to get the ApiKeys of a namespace shows the spend of
// that namespace, and the right to get all ApiKeys shows all spend.

import { hash } from 'node:crypto';
import { z } from 'zod';
import type { Clock } from '../../core/clock.ts';
import type { KubeClient } from '../../core/kube/client.ts';
import { collectionPath, subjectAccessReviews, tokenReviews } from '../../core/kube/paths.ts';
import { type ApiError, noToken } from './errors.ts';

/** In the words of Kubernetes. */
interface Right {
  readonly verb: 'get' | 'create' | 'patch';
  readonly resource: 'apikeys' | 'providers';
}

const readsSpend: Right = { verb: 'get', resource: 'apikeys' };

export interface Access {
  /** Which token to send, if it is not a token of Kubernetes; part of the 401. */
  readonly remedy?: string;
  /**
   * - `unknown`: no user has this token.
   * - `refused`: a user has it, and lacks the right.
   *
   * @param namespace Undefined: all namespaces.
   * @param right Default: the right to see spend.
   * @throws if Kubernetes does not answer.
   */
  judge(
    token: string,
    namespace: string | undefined,
    right?: Right,
  ): Promise<'allowed' | 'refused' | 'unknown'>;
}

/** For a token that is `unknown`. */
export const unknownToken = ({ remedy }: Access): ApiError =>
  noToken(remedy ?? 'Kubernetes does not know the token, or it has expired');

/** A right that is taken away is honoured so late at most. */
const keptMs = 10_000;
const keptMax = 1_000;
/** A limit for unauthenticated callers; the API server itself accepts longer tokens. */
const tokenCharsMax = 16_384;

const userSchema = z.object({
  username: z.string().default(''),
  uid: z.string().optional(),
  groups: z.array(z.string()).optional(),
  extra: z.record(z.string(), z.array(z.string())).optional(),
});
type User = z.infer<typeof userSchema>;
const tokenReviewSchema = z.object({
  status: z.object({ authenticated: z.boolean().default(false), user: userSchema.optional() }),
});
const accessReviewSchema = z.object({ status: z.object({ allowed: z.boolean().default(false) }) });

export function openAccess(client: KubeClient, clock: Clock): Access {
  const users = makeCache<User | undefined>(clock);
  const rights = makeCache<boolean>(clock);

  return {
    async judge(token, namespace, right = readsSpend) {
      if (token === '' || token.length > tokenCharsMax) return 'unknown';
      // Not the token itself: it would stand in memory for longer than it is needed.
      const digest = hash('sha256', token, 'hex');
      const user = await users.get(digest, () => reviewToken(client, token));
      if (user === undefined) return 'unknown';
      const isAllowed = await rights.get(`${digest} ${right.verb} ${right.resource} ${namespace ?? ''}`, () =>
        reviewAccess(client, user, namespace, right),
      );
      return isAllowed ? 'allowed' : 'refused';
    },
  };
}

async function reviewToken(client: KubeClient, token: string): Promise<User | undefined> {
  const answer = await client.call({
    method: 'POST',
    path: collectionPath(tokenReviews),
    body: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', spec: { token } },
  });
  const { authenticated, user } = tokenReviewSchema.parse(answer).status;
  return authenticated ? user : undefined;
}

async function reviewAccess(
  client: KubeClient,
  user: User,
  namespace: string | undefined,
  { verb, resource }: Right,
): Promise<boolean> {
  const { username, ...more } = user;
  const answer = await client.call({
    method: 'POST',
    path: collectionPath(subjectAccessReviews),
    body: {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SubjectAccessReview',
      spec: {
        user: username,
        ...more,
        resourceAttributes: {
          group: 'penstock.dev',
          version: 'v1alpha1',
          resource,
          verb,
          // Empty: in all namespaces.
          namespace: namespace ?? '',
        },
      },
    },
  });
  return accessReviewSchema.parse(answer).status.allowed;
}

interface Cache<T> {
  get(key: string, read: () => Promise<T>): Promise<T>;
}

function makeCache<T>(clock: Clock): Cache<T> {
  const kept = new Map<string, { readonly value: Promise<T>; readonly atMs: number }>();
  return {
    get(key, read) {
      const nowMs = clock.now();
      const known = kept.get(key);
      if (known !== undefined && nowMs - known.atMs < keptMs) return known.value;
      // Above the bound the cache is cleared: that costs calls, but bounds memory.
      if (kept.size >= keptMax) kept.clear();
      // Kept before it is settled: of many questions at once only one is asked.
      const value = read();
      kept.set(key, { value, atMs: nowMs });
      value.catch(() => kept.delete(key));
      return value;
    },
  };
}
