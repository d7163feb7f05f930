// When is a gateway ready for requests? The endpoints of its port for Kubernetes and Prometheus.

import type { Server } from 'node:http';
import type { Registry } from 'prom-client';
import { buildProcessServer } from '../../core/telemetry/process-server.ts';

interface InternalParts {
  readonly registry: Registry;
  /** False until one whole table has been loaded, and with budgets for a while until it is known what was spent; and again while draining. */
  isReady(): boolean;
  /** The exchange is not served yet. */
  lacksCertificate(): boolean;
}

export function buildInternalServer({ registry, isReady, lacksCertificate }: InternalParts): Server {
  return buildProcessServer({
    registry,
    missing() {
      if (!isReady()) return 'no routing table yet, no sums from the ledger yet, or draining';
      return lacksCertificate()
        ? 'no certificate for operator and ledger yet: the operator sends it with the routing table; see its log'
        : undefined;
    },
  });
}
