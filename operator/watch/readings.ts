// Which watches are open, and what has been read? Each is a reflector; a tenant can forbid those of its namespace.

import type { Clock } from '../../core/clock.ts';
import type { KubeClient } from '../../core/kube/client.ts';
import type { KubeObject } from '../../core/kube/object.ts';
import { collectionPath, type Resource } from '../../core/kube/paths.ts';
import { type Reflector, type ReflectorEvent, startReflector, type Trouble } from '../../core/kube/watch.ts';
import type { Kind } from '../resources/resource.ts';

export type WatchName =
  | Kind
  | 'TenantPolicy'
  | 'Namespace'
  | 'Pod'
  | 'Secret'
  | 'CredentialSecret'
  | 'ConfigMap'
  | 'IssuedSecret'
  | 'Pointer'
  | 'Shard';

export interface WatchTrouble extends Trouble {
  readonly watch: WatchName;
  /** Where only this one is watched. */
  readonly namespace?: string;
}

interface ReadingsOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  /** From 0 up to 1. */
  random(): number;
  /** Empty: the whole cluster. Else nothing outside of these is asked for. */
  readonly tenantNamespaces: readonly string[];
  /** A namespace that was forbidden has been read: its missing objects are now known to be missing. */
  onAllowed(): void;
  onTrouble(trouble: WatchTrouble): void;
}

/** What makes one watch; the path is built from the resource and the namespace. */
export interface Watched<T> {
  readonly name: WatchName;
  readonly resource: Resource;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  readonly metadataOnly?: boolean;
  convert(object: KubeObject): T;
  onEvent(event: Exclude<ReflectorEvent<T>, { type: 'listed' }>): void;
  onOpen?(isOpen: boolean): void;
}

export interface Readings {
  /** In one namespace; undefined: in the whole cluster. */
  start<T>(watched: Watched<T>, namespace: string | undefined): void;
  /** In every namespace that the operator serves. */
  startForTenants<T>(watched: Watched<T>): void;
  /** Every watch that was started has been read once, or the API server forbids it. */
  settled(): Promise<unknown>;
  hasSynced(): boolean;
  /** Served namespaces of which something was never read, because the API server forbids it. */
  unreadableNamespaces(): ReadonlySet<string>;
  idle(): { readonly watch: WatchName; readonly idleMs: number }[];
  relists(): { readonly watch: WatchName; readonly count: number }[];
  close(): Promise<unknown>;
}

interface Reading {
  readonly name: WatchName;
  /** Of a tenant; undefined for what belongs to the installation or the whole cluster. */
  readonly namespace: string | undefined;
  readonly reflector: Reflector<unknown>;
  /** Settled when it was read once, or the API server forbids it. */
  readonly settled: Promise<void>;
  /** Never read, because the API server forbids it. */
  readonly isForbidden: () => boolean;
}

export function openReadings(options: ReadingsOptions): Readings {
  const { clock, tenantNamespaces } = options;
  const readings: Reading[] = [];
  return {
    start: (watched, namespace) => void readings.push(read(options, watched, namespace, false)),
    startForTenants(watched) {
      if (tenantNamespaces.length === 0) readings.push(read(options, watched, undefined, false));
      for (const namespace of tenantNamespaces) readings.push(read(options, watched, namespace, true));
    },
    settled: () => Promise.all(readings.map(({ settled }) => settled)),
    hasSynced: () => readings.every(({ isForbidden, reflector }) => isForbidden() || reflector.hasSynced()),
    unreadableNamespaces: () =>
      new Set(
        readings.flatMap(({ isForbidden, namespace }) =>
          isForbidden() && namespace !== undefined ? [namespace] : [],
        ),
      ),
    idle() {
      const idle = new Map<WatchName, number>();
      for (const { name, reflector } of readings) {
        idle.set(name, Math.max(idle.get(name) ?? 0, clock.now() - reflector.lastActivityMs()));
      }
      return [...idle].map(([watch, idleMs]) => ({ watch, idleMs }));
    },
    relists() {
      const relists = new Map<WatchName, number>();
      for (const { name, reflector } of readings) {
        const again = Math.max(0, reflector.stats().lists - 1);
        relists.set(name, (relists.get(name) ?? 0) + again);
      }
      return [...relists].map(([watch, count]) => ({ watch, count }));
    },
    close: () => Promise.all(readings.map(({ reflector }) => reflector.close())),
  };
}

/** A tenant can take its namespace away from the operator; that is no reason to keep all others waiting. */
function read<T>(
  { client, clock, random, onAllowed, onTrouble }: ReadingsOptions,
  watched: Watched<T>,
  namespace: string | undefined,
  isTenants: boolean,
): Reading {
  const { name, resource, labelSelector, fieldSelector, metadataOnly, convert, onEvent, onOpen } = watched;
  const { promise: settled, resolve: settle, reject } = Promise.withResolvers<void>();
  let isForbidden = false;
  const reflector = startReflector<T>({
    client,
    clock,
    random,
    path: collectionPath(resource, namespace),
    query: { labelSelector, fieldSelector },
    ...(metadataOnly === undefined ? {} : { metadataOnly }),
    convert,
    ...(onOpen === undefined ? {} : { onOpen }),
    onEvent(event) {
      if (event.type !== 'listed') {
        onEvent(event);
      } else if (isForbidden) {
        isForbidden = false;
        onAllowed();
      }
    },
    onTrouble(trouble) {
      if (isTenants && trouble.reason === 'Forbidden' && !reflector.hasSynced()) {
        isForbidden = true;
        settle();
      }
      onTrouble({ watch: name, ...(namespace === undefined ? {} : { namespace }), ...trouble });
    },
  });
  reflector.synced.then(settle, reject);
  return {
    name,
    namespace: isTenants ? namespace : undefined,
    reflector,
    settled,
    isForbidden: () => isForbidden,
  };
}
