// Address of the API server and credentials of the account, as Kubernetes gives them to every container.

import type { ServiceAccountOptions } from '../../core/kube/service-account.ts';

/** @throws {Error} naming the variable that is missing. */
export function readApiServer(
  environment: NodeJS.ProcessEnv,
): Pick<ServiceAccountOptions, 'folder' | 'host' | 'port'> {
  return {
    folder: environment.PENSTOCK_SERVICE_ACCOUNT_DIR ?? '/var/run/secrets/kubernetes.io/serviceaccount',
    host: must(environment, 'KUBERNETES_SERVICE_HOST'),
    port: Number(must(environment, 'KUBERNETES_SERVICE_PORT')),
  };
}

/** @throws {Error} naming the variable. */
export function must(environment: NodeJS.ProcessEnv, name: string): string {
  const value = environment[name];
  if (value === undefined || value === '') throw new Error(`${name} is missing from the environment`);
  return value;
}
