// Which gateway pods have a journal, with which token is it read, and what may namespaces spend? Two watches: the pods of the
// release, and the pointer Secret alone.

import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import type { Clock } from '../core/clock.ts';
import {
  INTERNAL_TLS_PORT,
  type KeyPair,
  ledgerSecretName,
  readKeyPair,
  TLS_DATA,
} from '../core/contract/internal-tls.ts';
import { manifestSchema, POINTER_DATA, pointerName } from '../core/contract/manifest.ts';
import type { KubeClient } from '../core/kube/client.ts';
import { isRecord, type KubeObject } from '../core/kube/object.ts';
import { collectionPath, pods, secrets } from '../core/kube/paths.ts';
import { type Reflector, startReflector, type Trouble } from '../core/kube/watch.ts';
import { parseJson } from '../core/parse-json.ts';
import type { JournalPod } from './ask-journal.ts';
import { readTenantBudgets, type TenantBudgets } from './budgets.ts';

interface PodWatchOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  /** From 0 up to 1. */
  random(): number;
  readonly instance: string;
  /** Where the gateways run. */
  readonly namespace: string;
  readonly tableNamespace: string;
  /** Label selector of the gateway Pods. */
  readonly gatewaySelector: string;
  onPods(pods: readonly JournalPod[]): void;
  /** Called with the ledger's TLS certificate; undefined: its Secret is not watched. */
  readonly onCertificate?: ((pair: KeyPair) => void) | undefined;
  onTrouble(watch: 'pods' | 'pointer' | 'certificate', trouble: Trouble): void;
}

export interface PodWatch {
  /** The bearer of the exchange; undefined while it is not known. */
  token(): string | undefined;
  /** Authorities that are trusted; undefined: no gateway has a certificate. */
  trusted(): string | undefined;
  /** Of the table in use, the identical list while nothing has changed; undefined before the first table. */
  tenantBudgets(): readonly TenantBudgets[] | undefined;
  /** Pods that take requests, by their readiness. */
  readyPods(): readonly JournalPod[];
  /** Pods that are being deleted, with their last records still to come. */
  endingPods(): readonly JournalPod[];
  hasSynced(): boolean;
  close(): Promise<void>;
}

interface SeenPod {
  readonly pod: JournalPod;
  readonly isReady: boolean;
  readonly isEnding: boolean;
}

interface SeenPointer {
  readonly token: string | undefined;
  readonly trusted: string | undefined;
  readonly tenantBudgets: readonly TenantBudgets[];
}

const none: readonly TenantBudgets[] = [];

/** Name of the container port. */
const INTERNAL_PORT = 'internal';

export function watchPods(options: PodWatchOptions): PodWatch {
  const { client, clock, random, instance, namespace, tableNamespace, gatewaySelector } = options;
  const edge = { client, clock, random: () => random() };
  const pointer = pointerName(instance);
  const notify = (): void => {
    // Without the whole first list, pods would be missing; without the token, no pod can be asked.
    if (!gateways.hasSynced() || !tokens.hasSynced()) return;
    options.onPods(seen().map(({ pod }) => pod));
  };
  const seen = (): readonly SeenPod[] => [...gateways.store.values()].filter((one) => one !== undefined);
  const gateways: Reflector<SeenPod | undefined> = startReflector({
    ...edge,
    path: collectionPath(pods, namespace),
    query: { labelSelector: gatewaySelector },
    convert(object) {
      const pod = readJournalPod(object);
      const isEnding = object.metadata.deletionTimestamp !== undefined;
      return pod && { pod, isEnding, isReady: !isEnding && isReady(object) };
    },
    onEvent: notify,
    onTrouble: (trouble) => options.onTrouble('pods', trouble),
  });
  const readBudgets = createBudgetReader();
  const tokens = startReflector<SeenPointer>({
    ...edge,
    path: collectionPath(secrets, tableNamespace),
    query: { fieldSelector: `metadata.name=${pointer}` },
    convert: (object) => ({
      token: readText(object, POINTER_DATA.exchangeToken) || undefined,
      trusted: readText(object, TLS_DATA.trusted) || undefined,
      tenantBudgets: readBudgets(object),
    }),
    onEvent: notify,
    onTrouble: (trouble) => options.onTrouble('pointer', trouble),
  });
  const { onCertificate } = options;
  const certificates =
    onCertificate &&
    startReflector<KeyPair | undefined>({
      ...edge,
      path: collectionPath(secrets, namespace),
      query: { fieldSelector: `metadata.name=${ledgerSecretName(instance)}` },
      convert: (object) => readKeyPair((name) => readText(object, name)),
      onEvent(event) {
        if (event.type === 'upserted' && event.object !== undefined) onCertificate(event.object);
      },
      onTrouble: (trouble) => options.onTrouble('certificate', trouble),
    });
  return {
    trusted: () => tokens.store.get(`${tableNamespace}/${pointer}`)?.trusted,
    token: () => tokens.store.get(`${tableNamespace}/${pointer}`)?.token,
    tenantBudgets() {
      if (!tokens.hasSynced()) return undefined;
      return tokens.store.get(`${tableNamespace}/${pointer}`)?.tenantBudgets ?? none;
    },
    readyPods: () => seen().flatMap(({ pod, isReady }) => (isReady ? [pod] : [])),
    endingPods: () => seen().flatMap(({ pod, isEnding }) => (isEnding ? [pod] : [])),
    hasSynced: () => gateways.hasSynced() && tokens.hasSynced(),
    async close() {
      await Promise.all([gateways.close(), tokens.close(), certificates?.close()]);
    },
  };
}

/**
 * Also of a pod that is not ready or is being deleted: its journal must be read to the end. Undefined if it has no address yet, or all
 * its containers have ended.
 */
export function readJournalPod({ metadata, spec, status }: KubeObject): JournalPod | undefined {
  if (metadata.uid === undefined || !isRecord(spec) || !isRecord(status)) return undefined;
  const { podIP, phase } = status;
  if (typeof podIP !== 'string' || phase === 'Succeeded' || phase === 'Failed') return undefined;
  const ports = records(spec.containers).flatMap((container) => records(container.ports));
  const portOf = (wanted: string): number | undefined => {
    const port = ports.find(({ name }) => name === wanted)?.containerPort;
    return typeof port === 'number' ? port : undefined;
  };
  const port = portOf(INTERNAL_PORT);
  if (port === undefined) return undefined;
  const tlsPort = portOf(INTERNAL_TLS_PORT);
  return {
    ...{ uid: metadata.uid, name: metadata.name, ip: podIP, port },
    ...(tlsPort === undefined ? {} : { tlsPort }),
  };
}

function isReady({ status }: KubeObject): boolean {
  if (!isRecord(status)) return false;
  return records(status.conditions).some((one) => one.type === 'Ready' && one.status === 'True');
}

function readText({ data }: KubeObject, name: string): string {
  const value = isRecord(data) ? data[name] : undefined;
  return typeof value === 'string' ? Buffer.from(value, 'base64').toString('utf8') : '';
}

/** A heartbeat every ten seconds brings the same manifest. One that cannot be read leaves what was known. */
function createBudgetReader(): (pointer: KubeObject) => readonly TenantBudgets[] {
  const settings = z.object({
    settings: manifestSchema.shape.settings.pick({ tenantBudgets: true, tenantWarnings: true }),
  });
  let last: { readonly text: string; readonly budgets: readonly TenantBudgets[] } = {
    text: '',
    budgets: none,
  };
  return (pointer) => {
    const text = readText(pointer, POINTER_DATA.manifest);
    if (text !== last.text) {
      const read = settings.safeParse(parseJson(text));
      const budgets = read.success ? readTenantBudgets(read.data.settings) : last.budgets;
      last = { text, budgets: isDeepStrictEqual(budgets, last.budgets) ? last.budgets : budgets };
    }
    return last.budgets;
  };
}

function records(value: unknown): readonly Readonly<Record<string, unknown>>[] {
  return Array.isArray(value) ? value.filter(isRecord) : [];
}
