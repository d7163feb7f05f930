// A read API of the ledger that listens, and accounts of a cluster that may see more or less of it.

import { once } from 'node:events';
import { expect } from 'vitest';
import { systemClock } from '../../core/clock.ts';
import { buildReadApi, type ReadApiParts } from '../../ledger/read-api/read-api.ts';
import type { LedgerStore } from '../../ledger/store/store.ts';
import type { ControlPlane } from '../cluster/control-plane.ts';
import { serviceAccountToken } from '../cluster/identities.ts';
import { apply, createNamespace } from '../cluster/objects.ts';
import { rawCall } from '../support/raw-client.ts';

export interface ReadApi {
  readonly port: number;
  ask(
    path: string,
    token?: string,
    method?: string,
    body?: string | object,
  ): Promise<{
    readonly status: number;
    readonly body: Record<string, unknown>;
    readonly headers: Readonly<Record<string, unknown>>;
  }>;
  close(): Promise<void>;
}

/** None is ready. */
export const noGateways: ReadApiParts['gateways'] = { ask: async () => undefined };

export async function serveReadApi(parts: ReadApiParts, patienceMs?: number): Promise<ReadApi> {
  const server = buildReadApi(parts, patienceMs).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return {
    port,
    async ask(path, token, method = 'GET', body) {
      const sent: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` };
      const { status, json, headers } = await rawCall(
        { port },
        { path, method, headers: sent, ...(body === undefined ? {} : { body }) },
      );
      return { status, body: json as Record<string, unknown>, headers };
    },
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

/** A read API that anybody may ask about everything, at a time of one's own; a failure of it fails the test. */
export function serveToAnybody(
  store: LedgerStore,
  nowMs: number,
  budgets: ReadApiParts['budgets'] = () => [],
): Promise<ReadApi> {
  return serveReadApi({
    store,
    access: { judge: async () => 'allowed' },
    clock: { ...systemClock, wallMs: () => nowMs },
    budgets,
    gateways: noGateways,
    token: () => undefined,
    onFailure: (error) => expect.unreachable(String(error)),
  });
}

/** Of accounts, by what they may: get the ApiKeys of team-a, of all namespaces, of none. Makes the namespaces team-a and team-b too. */
export async function readAccounts(plane: ControlPlane) {
  const { client } = plane;
  const namespace = 'team-a';
  for (const name of ['team-a', 'team-b']) await createNamespace(client, name);
  for (const name of ['of-a', 'of-all', 'of-none'])
    await apply(client, { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { namespace, name } });
  const rbac = { apiVersion: 'rbac.authorization.k8s.io/v1' };
  await apply(client, {
    ...rbac,
    kind: 'ClusterRole',
    metadata: { name: 'keys' },
    rules: [{ apiGroups: ['penstock.dev'], resources: ['apikeys'], verbs: ['get'] }],
  });
  const to = (name: string) => ({
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'keys' },
    subjects: [{ kind: 'ServiceAccount', namespace, name }],
  });
  await apply(client, {
    ...rbac,
    kind: 'RoleBinding',
    metadata: { namespace, name: 'of-a' },
    ...to('of-a'),
  });
  await apply(client, { ...rbac, kind: 'ClusterRoleBinding', metadata: { name: 'of-all' }, ...to('of-all') });
  return {
    teamA: await serviceAccountToken(plane, 'team-a', 'of-a'),
    all: await serviceAccountToken(plane, 'team-a', 'of-all'),
    nothing: await serviceAccountToken(plane, 'team-a', 'of-none'),
  };
}
