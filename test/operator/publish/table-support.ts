// A publisher on the real API server: in a namespace of its own, with its requests counted, and with connections
// that break where a test wants them to.

import { randomBytes, randomUUID } from 'node:crypto';
import { type Clock, systemClock } from '../../../core/clock.ts';
import type { Manifest } from '../../../core/contract/manifest.ts';
import type { TableContent } from '../../../core/contract/routing-table.ts';
import { type KubeClient, KubeError, type KubeRequest } from '../../../core/kube/client.ts';
import { createPublisher, type Publisher } from '../../../operator/publish/publisher.ts';
import type { PublishReport } from '../../../operator/publish/report.ts';
import { openTableStore, type TableStore } from '../../../operator/publish/table-store.ts';

/** Makes a namespace and gives its name. */
export async function makeNamespace(client: KubeClient): Promise<string> {
  const name = `tables-${randomUUID()}`;
  await client.call({ method: 'POST', path: '/api/v1/namespaces', body: { metadata: { name } } });
  return name;
}

export interface TestPublisher extends Publisher {
  readonly reports: PublishReport[];
}

export function makePublisher(
  client: KubeClient,
  tableNamespace: string,
  clock: Clock = systemClock,
): TestPublisher {
  const reports: PublishReport[] = [];
  const publisher = createPublisher({
    client,
    clock,
    randomBytes,
    instance: 'penstock',
    tableNamespace,
    report: (report) => void reports.push(report),
  });
  return { ...publisher, reports };
}

export function openStore(client: KubeClient, tableNamespace: string): TableStore {
  return openTableStore({ client, instance: 'penstock', tableNamespace });
}

/** What a gateway would serve now; throws where it would refuse. */
export async function readTable(
  client: KubeClient,
  tableNamespace: string,
): Promise<{ readonly manifest: Manifest; readonly content: TableContent }> {
  const store = openStore(client, tableNamespace);
  const pointer = await store.readPointer();
  if (pointer?.manifest.kind !== 'readable') throw new Error('there is no pointer that can be read');
  const { manifest } = pointer.manifest;
  const { content, problems } = await store.readShards(manifest);
  if (problems.length > 0) throw new Error(problems.map(({ message }) => message).join('; '));
  return { manifest, content };
}

export interface CountedClient extends KubeClient {
  /** Methods and paths since this was last asked. */
  takeWrites(): string[];
  takeReads(): string[];
}

export function counted(client: KubeClient): CountedClient {
  let requests: KubeRequest[] = [];
  const take = (wanted: (request: KubeRequest) => boolean) => {
    const taken = requests.filter(wanted);
    requests = requests.filter((request) => !wanted(request));
    return taken.map(({ method, path }) => `${method} ${path}`);
  };
  return {
    ...client,
    call(request) {
      requests.push(request);
      return client.call(request);
    },
    takeWrites: () => take(({ method }) => method !== 'GET'),
    takeReads: () => take(({ method }) => method === 'GET'),
  };
}

/**
 * Everything breaks at the n-th write (from 0): `before` it reaches the server, or `after`, when only its answer is
 * lost. Nothing gets through from then on, as if the process had been killed, until `heal`.
 */
export function breaking(
  client: KubeClient,
  writes: number,
  when: 'before' | 'after',
): KubeClient & { heal(): void; isBroken(): boolean } {
  let left = writes;
  let isBroken = false;
  let isHealed = false;
  const lost = () => new KubeError(0, 'Unreachable', 'the connection broke');
  return {
    ...client,
    async call(request) {
      if (isHealed || (request.method === 'GET' && !isBroken)) return await client.call(request);
      if (isBroken) throw lost();
      left -= 1;
      if (left >= 0) return await client.call(request);
      isBroken = true;
      if (when === 'after') await client.call(request);
      throw lost();
    },
    heal() {
      isHealed = true;
    },
    isBroken: () => isBroken,
  };
}

/** Every request that is meant is refused with this, until `heal`. */
export function refusing(
  client: KubeClient,
  refusal: KubeError,
  isMeant: (request: KubeRequest) => boolean,
): KubeClient & { heal(): void } {
  let isHealed = false;
  return {
    ...client,
    async call(request) {
      if (!isHealed && isMeant(request)) throw refusal;
      return await client.call(request);
    },
    heal() {
      isHealed = true;
    },
  };
}
