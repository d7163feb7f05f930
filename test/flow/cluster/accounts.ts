// Which accounts does the chart make, and where are they asked for their rights? And who of a tenant's people has some by it?

import { vi } from 'vitest';
import type { Account } from '../../cluster/can-i.ts';
import type { ControlPlane } from '../../cluster/control-plane.ts';
import { namespace, tableNamespace } from './installation.ts';

export const demoNamespace = 'penstock-demo';

export interface ServiceAccount {
  readonly namespace: string;
  readonly name: string;
}

/** All that a chart with the demo makes, for a release `penstock`. */
export const accounts: readonly ServiceAccount[] = [
  { namespace, name: 'penstock-operator' },
  { namespace, name: 'penstock-gateway' },
  { namespace, name: 'penstock-ledger' },
  { namespace, name: 'penstock-test' },
  { namespace, name: 'penstock-tenant-policies' },
  { namespace: demoNamespace, name: 'penstock-demo' },
];

export const userOf = (account: ServiceAccount) =>
  `system:serviceaccount:${account.namespace}:${account.name}`;

/** In namespaces of our own, in one of a tenant, and in one that is none of our business. */
export const accountRights: readonly Account[] = accounts.map((account) => ({
  user: userOf(account),
  namespaces: [namespace, tableNamespace, demoNamespace, 'team-a', 'kube-system'],
}));

/** Users are bound to the roles that every cluster has; of their rights, those to our kinds. Needs a plane with controllers. */
export async function aggregatedRights(plane: ControlPlane): Promise<Account[]> {
  const roles = ['admin', 'edit', 'view'];
  for (const role of roles) {
    const binding = ['rolebinding', `a-tenants-${role}`, '-n', 'team-a', `--clusterrole=${role}`];
    // It may be there from before.
    await plane.kubectl(['create', ...binding, `--user=a-tenants-${role}`]);
  }
  // The controller of the cluster puts these roles together when it comes to it, and tells nobody.
  await vi.waitFor(
    async () => {
      for (const role of roles) {
        const who = ['--as', `a-tenants-${role}`, '-n', 'team-a'];
        await plane.mustKubectl(['auth', 'can-i', 'get', 'apikeys.penstock.dev', ...who]);
      }
    },
    { timeout: 20_000, interval: 200 },
  );
  return roles.map((role) => ({
    user: `a-tenants-${role}`,
    namespaces: ['team-a', 'team-b'],
    isMeant: (line) => line.includes('penstock.dev'),
  }));
}
