// What do people do to the cluster? Objects come, change and go; Secrets are rotated; and now and then somebody lays hands on what
// is ours: deletes a shard, the pointer or the lease, or writes a pointer that no gateway of this version may take.

import { hash } from 'node:crypto';
import { POINTER_DATA } from '../../core/contract/manifest.ts';
import { READER_FORMAT } from '../../core/contract/routing-table.ts';
import { isRecord, type KubeObject } from '../../core/kube/object.ts';
import { type ApiServer, objectPathOf } from './api-client.ts';
import type { Stored } from './api-store.ts';
import type { Random } from './random.ts';
import { CUSTOM, isShardPath, LEASE_PATH, POINTER_PATH, SECRETS, TABLE_NAMESPACE } from './settings.ts';
import type { World } from './world.ts';

export interface People {
  /** The cluster as the run finds it. */
  prepare(keys: number): void;
  /** One wish. */
  act(): void;
  /** Hands on what is the operator's. */
  meddle(): void;
  /** A newer operator that is not there any more has left a pointer that ours does not touch. */
  clearNewerPointer(): void;
  /** Takes a key away from somebody; gives whether there was one. */
  revoke(): boolean;
}

const kinds = {
  Provider: `${CUSTOM}/providers`,
  ModelRoute: `${CUSTOM}/modelroutes`,
  ApiKey: `${CUSTOM}/apikeys`,
} as const;
const teams = ['platform', 'team-a', 'team-b'] as const;

export function makePeople(world: World, { store }: ApiServer, random: Random): People {
  let names = 0;
  const by = 'somebody';

  function create(resource: string, namespace: string | undefined, name: string, fields: object): void {
    world.note(`${by} creates ${resource} ${namespace ?? ''}/${name}`);
    const { metadata = {}, ...rest } = fields as { readonly metadata?: object };
    store.create(
      by,
      { resource, namespace, name: undefined },
      { metadata: { name, ...(namespace === undefined ? {} : { namespace }), ...metadata }, ...rest },
    );
  }

  function edit(stored: Stored, change: (value: KubeObject) => KubeObject, what: string): void {
    world.note(`${by}: ${what} ${stored.path}`);
    store.replace(by, stored.path, change(stored.value));
  }

  function remove(stored: Stored): void {
    world.note(`${by} deletes ${stored.path}`);
    store.remove(by, stored.path, undefined);
    if (stored.resource !== kinds.ApiKey) return;
    // What it owns goes with it, a little later.
    const { uid } = stored.value.metadata;
    world.after(random.between(10, 800), () => {
      for (const secret of store.list(SECRETS, stored.namespace)) {
        if (JSON.stringify(secret.value.metadata.ownerReferences ?? []).includes(`"${uid}"`)) {
          store.remove('garbage collector', secret.path, undefined);
        }
      }
    });
  }

  const withSpec =
    (change: object) =>
    (value: KubeObject): KubeObject => ({
      ...value,
      spec: { ...(isRecord(value.spec) ? value.spec : {}), ...change },
    });

  function any(resource: string): Stored | undefined {
    const all = store.list(resource);
    return all[random.between(0, Math.max(0, all.length - 1))];
  }

  const nextName = (kind: string): string => {
    names += 1;
    return `${kind}-${names}`;
  };
  const newDigest = (): string => hash('sha256', `key ${random.next()}`);

  function createKey(): void {
    const isImport = random.chance(0.75);
    create(kinds.ApiKey, random.pick(teams), nextName('key'), {
      spec: isImport ? { imports: [{ sha256: newDigest() }] } : {},
    });
  }

  function createProvider(namespace: string, name: string): void {
    create(kinds.Provider, namespace, name, {
      spec: {
        type: 'OpenAICompatible',
        baseURL: 'https://api.upstream.test/v1',
        apis: ['ChatCompletions'],
        auth: { keys: [{ name: 'main', secretRef: { name: 'upstream-keys', key: 'main' } }] },
      },
    });
  }

  function createRoute(): void {
    const name = nextName('model');
    const namespace = random.pick(teams);
    const providers = store.list(kinds.Provider, namespace);
    const provider = providers[random.between(0, Math.max(0, providers.length - 1))];
    create(kinds.ModelRoute, namespace, name, {
      spec: {
        model: name,
        targets: [
          {
            name: 'main',
            providerRef: { name: provider?.name ?? 'missing' },
            upstreamModel: 'upstream-small',
          },
        ],
      },
    });
  }

  function createCredential(namespace: string): void {
    create(SECRETS, namespace, 'upstream-keys', {
      metadata: {
        labels: { 'penstock.dev/provider-credential': 'true' },
        annotations: { 'penstock.dev/allowed-hosts': 'api.upstream.test' },
      },
      type: 'Opaque',
      data: { main: Buffer.from(`sk-${newDigest().slice(0, 20)}`).toString('base64') },
    });
  }

  const disabledOf = ({ value }: Stored): boolean => isRecord(value.spec) && value.spec.disabled === true;

  return {
    prepare(keys) {
      for (const name of [...teams, 'penstock-system', TABLE_NAMESPACE]) {
        create('v1/namespaces', undefined, name, {
          metadata: { labels: { 'kubernetes.io/metadata.name': name } },
        });
      }
      for (const team of teams) {
        createCredential(team);
        createProvider(team, 'upstream');
        createRoute();
      }
      for (let count = 0; count < keys; count += 1) createKey();
    },

    act() {
      const key = any(kinds.ApiKey);
      const route = any(kinds.ModelRoute);
      const provider = any(kinds.Provider);
      const credential = store.find(objectPathOf(SECRETS, random.pick(teams), 'upstream-keys'));
      const wishes: readonly (() => void)[] = [
        createKey,
        createKey,
        createRoute,
        () => createProvider(random.pick(teams), nextName('provider')),
        () => key && remove(key),
        () => key && edit(key, withSpec({ disabled: !disabledOf(key) }), 'turns on or off'),
        () => key && edit(key, withSpec({ imports: [{ sha256: newDigest() }] }), 'gives another hash to'),
        () => route && remove(route),
        () => route && edit(route, withSpec({ suspended: random.chance(0.5) }), 'suspends or not'),
        () => route && edit(route, withSpec({ model: nextName('model') }), 'renames the model of'),
        () =>
          provider &&
          edit(
            provider,
            withSpec({ baseURL: `https://api.upstream.test/v${random.between(1, 9)}` }),
            'moves',
          ),
        () => provider && random.chance(0.4) && remove(provider),
        () =>
          credential &&
          edit(
            credential,
            (value) => ({
              ...value,
              data: { main: Buffer.from(`sk-${newDigest().slice(0, 20)}`).toString('base64') },
            }),
            'rotates',
          ),
        () =>
          credential === undefined
            ? createCredential(random.pick(teams))
            : random.chance(0.3) && remove(credential),
        () => {
          // A key that is made here, and whose Secret somebody deletes, is made again.
          const issued = store
            .list(SECRETS)
            .find(({ value }) => value.metadata.labels?.['penstock.dev/api-key'] !== undefined);
          if (issued !== undefined) remove(issued);
        },
        () => {
          const namespace = store.find(`/api/v1/namespaces/${random.pick(teams)}`);
          const labels = { ...namespace?.value.metadata.labels, tier: String(random.between(1, 3)) };
          if (namespace)
            edit(namespace, (value) => ({ ...value, metadata: { ...value.metadata, labels } }), 'labels');
        },
        () => {
          if (key === undefined) return;
          const labels = { note: String(random.between(1, 9)) };
          edit(key, (value) => ({ ...value, metadata: { ...value.metadata, labels } }), 'labels');
        },
      ];
      wishes[random.between(0, wishes.length - 1)]?.();
    },

    meddle() {
      const shards = store.list(SECRETS, TABLE_NAMESPACE).filter(({ path }) => isShardPath(path));
      const shard = shards[random.between(0, Math.max(0, shards.length - 1))];
      const pointer = store.find(POINTER_PATH);
      const lease = store.find(LEASE_PATH);
      const deeds: readonly (() => void)[] = [
        () => shard && remove(shard),
        () => {
          if (shard === undefined) return;
          remove(shard);
          create(SECRETS, TABLE_NAMESPACE, shard.name, {
            metadata: { labels: shard.value.metadata.labels },
            immutable: true,
            data: { shard: Buffer.from('something else').toString('base64') },
          });
        },
        () => pointer && remove(pointer),
        () =>
          pointer &&
          edit(
            pointer,
            (value) => ({
              ...value,
              metadata: {
                ...value.metadata,
                labels: { ...value.metadata.labels, note: String(random.between(1, 9)) },
              },
            }),
            'labels',
          ),
        () =>
          pointer &&
          edit(pointer, (value) => withForeignManifest(value, random), 'writes a table of another kind into'),
        () => lease && remove(lease),
      ];
      deeds[random.between(0, deeds.length - 1)]?.();
    },

    clearNewerPointer() {
      const pointer = store.find(POINTER_PATH);
      if (pointer !== undefined && isTooNew(pointer.value)) remove(pointer);
    },

    revoke() {
      const keys = store.list(kinds.ApiKey).filter((key) => !disabledOf(key));
      const key = keys[random.between(0, Math.max(0, keys.length - 1))];
      if (key === undefined) return false;
      if (random.chance(0.5)) remove(key);
      else edit(key, withSpec({ disabled: true }), 'turns off');
      return true;
    },
  };
}

function isTooNew({ data }: KubeObject): boolean {
  const text = isRecord(data)
    ? Buffer.from(String(data[POINTER_DATA.manifest] ?? ''), 'base64').toString()
    : '';
  return text.includes(`"minReader":${READER_FORMAT + 1}`);
}

/** Of a newer format, or damaged. */
function withForeignManifest(value: KubeObject, random: Random): KubeObject {
  const data = isRecord(value.data) ? value.data : {};
  const text = Buffer.from(String(data[POINTER_DATA.manifest] ?? ''), 'base64').toString();
  let manifest: unknown;
  try {
    manifest = JSON.parse(text);
  } catch {
    return value;
  }
  if (!isRecord(manifest)) return value;
  const isNewer = random.chance(0.5);
  const raised = {
    ...manifest,
    generation: Number(manifest.generation) + random.between(0, 3),
    shards: [],
    ...(isNewer ? { format: READER_FORMAT + 1, minReader: READER_FORMAT + 1 } : {}),
  };
  const next = JSON.stringify(raised);
  const digest = hash('sha256', isNewer ? next : `${next} `);
  const encode = (plain: string): string => Buffer.from(plain).toString('base64');
  return {
    ...value,
    data: { ...data, [POINTER_DATA.manifest]: encode(next), [POINTER_DATA.manifestSha256]: encode(digest) },
  };
}
