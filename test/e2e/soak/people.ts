// What do people do to an installation all day? Objects come, change, break and go, Secrets are rotated, labels move, and somebody
// deletes a Secret that is ours. What each of them wants last is remembered: it is written until the API server has it.

import { KubeError } from '../../../core/kube/client.ts';
import { isRecord } from '../../../core/kube/object.ts';
import { apply, deleteObject, readObject } from '../../../core/kube/patch.ts';
import type { ControlPlane } from '../../cluster/control-plane.ts';
import {
  credentialSecret,
  importedApiKey,
  importedKey,
  issuedApiKey,
  modelRoute,
  provider,
} from '../../flow/cluster/manifests.ts';
import type { Random } from '../../simulation/random.ts';
import { slowModel } from './callers.ts';

/** The models that are called all the time; their routes and Providers change, and always work. */
export const models = ['soak-quick', 'soak-slow'] as const;
export const teams = ['team-a', 'team-b'] as const;
const steadyProviders = ['east', 'west'] as const;

export interface People {
  /** What the callers need, once. */
  prepare(): Promise<void>;
  /** One wish after the other, until `stop`. */
  start(): void;
  /** Settled when the last wish is written, and everything that was broken is well again. */
  stop(): Promise<void>;
  count(): number;
  /** A key for the callers: one that was made here and is rotated, or one that was made elsewhere. */
  key(): string;
  /** Imported keys that were ever there, and whether they should work. */
  expectedKeys(): ReadonlyMap<string, boolean>;
}

export interface PeopleOptions {
  readonly plane: Pick<ControlPlane, 'client'>;
  readonly random: Random;
  /** Origins of two upstreams. */
  readonly upstreams: Readonly<Record<(typeof steadyProviders)[number], string>>;
}

const pauseMs = 700;
const keysMax = 40;
const routesMax = 12;
const ours = '/apis/penstock.dev/v1alpha1/namespaces';

export function startPeople({ plane: { client }, random, upstreams }: PeopleOptions): People {
  /** By path; only of what comes and goes. */
  const present = new Map<string, object>();
  const broken = new Map<string, () => object>();
  const keys = new Map<string, boolean>();
  const steadyKey = importedKey('platform', 'steady');
  let turnedKey = steadyKey;
  let turns = 0;
  let wishes = 0;
  let isOver = false;
  let acting = Promise.resolve();

  /** Until the API server has it: it may be away for a while. */
  async function insist<T>(write: () => Promise<T>): Promise<T | undefined> {
    for (;;) {
      try {
        return await write();
      } catch (error) {
        if (!(error instanceof KubeError)) throw error;
        if (error.status === 404) return undefined;
        if (error.status >= 400 && error.status < 500 && error.status !== 409 && error.status !== 429)
          throw error;
        await new Promise((resolve) => setTimeout(resolve, 500));
      }
    }
  }

  const write = (path: string, object: object) =>
    insist(() => apply(client, path, object, { fieldManager: 'people', force: true, timeoutMs: 10_000 }));
  const remove = (path: string) => insist(() => deleteObject(client, path, {}, { timeoutMs: 10_000 }));

  const secret = (namespace: string, name: string, url: string) =>
    write(
      `/api/v1/namespaces/${namespace}/secrets/${name}`,
      credentialSecret(namespace, name, url, `sk-${random.next()}`),
    );

  const steadyProvider = (name: (typeof steadyProviders)[number]) =>
    write(
      `${ours}/platform/providers/${name}`,
      provider('platform', name, upstreams[name], name, {
        headers: [{ name: 'x-turn', value: String(++turns) }],
        healthCheck: { active: { type: 'ListModels', interval: '10s', timeout: '5s' } },
      }),
    );

  const steadyRoute = (model: (typeof models)[number]) =>
    write(
      `${ours}/platform/modelroutes/${model}`,
      modelRoute('platform', model, [...steadyProviders], {
        model: `penstock/${model}`,
        allowedNamespaces: { from: 'All' },
        displayName: `turn ${++turns}`,
        aliases: random.chance(0.5) ? [`penstock/${model}-latest`] : [],
        targets: steadyProviders.map((name) => ({
          name,
          providerRef: { name },
          upstreamModel: model === 'soak-slow' ? slowModel : random.pick(['m', 'n']),
          weight: random.between(1, 5),
        })),
      }),
    );

  async function turnSteadyKey(): Promise<void> {
    await write(
      `${ours}/platform/apikeys/turned`,
      issuedApiKey('platform', 'turned', { rotation: { overlap: '24h', trigger: `turn-${++turns}` } }),
    );
  }

  /** The newest key in the Secret; those before it are in their overlap, and the callers go over when they see it. */
  async function readSteadyKey(): Promise<void> {
    const path = '/api/v1/namespaces/platform/secrets/turned-key';
    const object = await insist(() => readObject(client, path, { timeoutMs: 10_000 }));
    const data = isRecord(object?.data) ? object.data : {};
    if (typeof data.apiKey === 'string') turnedKey = Buffer.from(data.apiKey, 'base64').toString();
  }

  async function changeKey(): Promise<void> {
    const index = random.between(0, keysMax - 1);
    const namespace = teams[index % 2] ?? teams[0];
    const isIssued = index % 4 === 0;
    const name = `key-${index}`;
    const path = `${ours}/${namespace}/apikeys/${name}`;
    if (present.has(path) && random.chance(0.3)) {
      present.delete(path);
      if (!isIssued) keys.set(importedKey(namespace, name), false);
      await remove(path);
      return;
    }
    if (isIssued && present.has(path) && random.chance(0.2)) {
      // A new key is made in its place.
      await remove(`/api/v1/namespaces/${namespace}/secrets/${name}-key`);
      return;
    }
    const disabled = random.chance(0.3);
    const spec = { disabled, owner: { name: `owner ${++turns}` } };
    const object = isIssued
      ? issuedApiKey(namespace, name, { ...spec, rotation: { overlap: '1h', trigger: `turn-${turns}` } })
      : importedApiKey(namespace, name, spec);
    present.set(path, object);
    if (!isIssued) keys.set(importedKey(namespace, name), !disabled);
    await write(path, object);
  }

  async function changeRoute(): Promise<void> {
    const index = random.between(0, routesMax - 1);
    const namespace = teams[index % 2] ?? teams[0];
    const name = `route-${index}`;
    const path = `${ours}/${namespace}/modelroutes/${name}`;
    if (present.has(path) && random.chance(0.25)) {
      present.delete(path);
      broken.delete(path);
      await remove(path);
      return;
    }
    const good = () =>
      modelRoute(namespace, name, ['own'], {
        displayName: `turn ${++turns}`,
        aliases: random.chance(0.3) ? [`${name}-latest`] : [],
        suspended: random.chance(0.2),
      });
    const isBad = random.chance(0.2);
    const object = isBad
      ? modelRoute(namespace, name, ['missing'], { displayName: `turn ${turns}` })
      : good();
    if (isBad) broken.set(path, good);
    else broken.delete(path);
    present.set(path, object);
    await write(path, object);
  }

  const acts: readonly [() => Promise<unknown>, ...(() => Promise<unknown>)[]] = [
    changeKey,
    changeKey,
    changeKey,
    changeRoute,
    changeRoute,
    () => steadyRoute(random.pick(models)),
    () => steadyProvider(random.pick(steadyProviders)),
    () => {
      const name = random.pick(steadyProviders);
      return secret('platform', name, upstreams[name]);
    },
    () => secret(random.pick(teams), 'own', upstreams.east),
    async () => {
      await readSteadyKey();
      await turnSteadyKey();
    },
    () => {
      const name = random.pick(teams);
      return write(`/api/v1/namespaces/${name}`, {
        apiVersion: 'v1',
        kind: 'Namespace',
        metadata: { name, labels: { tier: String(random.between(1, 3)) } },
      });
    },
  ];

  return {
    async prepare() {
      for (const name of ['platform', ...teams]) {
        await write(`/api/v1/namespaces/${name}`, {
          apiVersion: 'v1',
          kind: 'Namespace',
          metadata: { name },
        });
      }
      for (const name of steadyProviders) {
        await secret('platform', name, upstreams[name]);
        await steadyProvider(name);
      }
      for (const model of models) await steadyRoute(model);
      await write(`${ours}/platform/apikeys/steady`, importedApiKey('platform', 'steady'));
      await turnSteadyKey();
      for (const name of teams) {
        await secret(name, 'own', upstreams.east);
        await write(`${ours}/${name}/providers/own`, provider(name, 'own', upstreams.east, 'own'));
      }
    },
    start() {
      acting = (async () => {
        while (!isOver) {
          await random.pick(acts)();
          wishes++;
          await new Promise((resolve) => setTimeout(resolve, pauseMs));
        }
      })();
      // Reported by `stop`.
      acting.catch(() => {});
    },
    async stop() {
      isOver = true;
      await acting;
      for (const [path, good] of broken) await write(path, good());
    },
    count: () => wishes,
    key: () => (random.chance(0.5) ? turnedKey : steadyKey),
    expectedKeys: () => keys,
  };
}
