// The ledger's port for Kubernetes and Prometheus: health and metrics.

import type { Server } from 'node:http';
import type { Registry } from 'prom-client';
import { buildProcessServer } from '../core/telemetry/process-server.ts';

interface HealthParts {
  readonly registry: Pick<Registry, 'metrics' | 'contentType'>;
  /** Which gateway pods there are was read once. */
  isSynced(): boolean;
  /** TLS is on and the certificate has not arrived, so the read API cannot serve. */
  lacksCertificate(): boolean;
  /** Rejects where the store does not answer. */
  askStore(): Promise<unknown>;
}

export function buildHealthServer({ registry, isSynced, lacksCertificate, askStore }: HealthParts): Server {
  return buildProcessServer({
    registry,
    // A database that is away is not mended by a restart, so it says nothing of life.
    async missing() {
      if (!isSynced()) return 'the cluster has not been read yet';
      if (lacksCertificate())
        return 'no certificate for the read API yet: the operator writes it into the Secret that ends in -ledger-tls, see its log';
      return await askStore().then(
        () => undefined,
        () => 'the store does not answer',
      );
    },
  });
}
