// Does anything that an installation wrote show the value of a Secret? Asked of each installation when it is stopped, whatever its
// tests were about: of the output of its processes, of its journals, and of what its API server shows to others.

import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { POINTER_DATA } from '../../../gateway/contract/manifest.ts';
import { type KubeClient, KubeError } from '../../../kube/client.ts';
import { collectionPath, configMaps, events, type Resource, secrets } from '../../../kube/paths.ts';
import { findLeaks } from '../../security/leaks.ts';
import type { RunningProcess } from '../../support/process.ts';

export interface Secrecy {
  /** What is applied may be gone, or replaced, by the end. */
  onApplied(objects: readonly object[]): void;
  onProcess(name: string, process: RunningProcess): void;
  /** Of a pod: its journal is read. */
  onFolder(name: string, folder: string): void;
  /** To be called while the API server still runs. An API server that is gone is not asked. */
  readCluster(client: KubeClient): Promise<void>;
  /** To be called once all processes have ended. @throws with the names of the Secrets and the places, never a value. */
  expectKept(): Promise<void>;
}

const secretSchema = z.object({
  kind: z.string().optional(),
  metadata: z.object({ name: z.string(), namespace: z.string().optional() }),
  data: z.record(z.string(), z.string()).optional(),
  stringData: z.record(z.string(), z.string()).optional(),
});

const ours: readonly Resource[] = ['providers', 'modelroutes', 'apikeys'].map((plural) => ({
  group: 'penstock.dev',
  version: 'v1alpha1',
  plural,
}));

/** Packed, or no secrets: those of the table's own Secrets, and certificates. */
const unsearched = new Set([
  ...['shard', POINTER_DATA.manifest, POINTER_DATA.manifestSha256, POINTER_DATA.heartbeat],
  ...['tls.crt', 'ca.crt', 'baseURL'],
]);

/** Of installations with more values, so many spread over all are looked for. */
const searchedMax = 200;

export function watchSecrecy(): Secrecy {
  const values = new Map<string, string>();
  const processes: { readonly name: string; readonly process: RunningProcess }[] = [];
  const folders: { readonly name: string; readonly folder: string }[] = [];
  const shown: Record<string, string> = {};

  function note(object: unknown): void {
    const parsed = secretSchema.safeParse(object);
    if (!parsed.success) return;
    const { metadata, data = {}, stringData = {} } = parsed.data;
    const add = (key: string, value: string): void => {
      if (unsearched.has(key) || value === '') return;
      // A value of each name at each time: rotated ones too.
      values.set(`${metadata.namespace}/${metadata.name} ${key} #${values.size}`, value);
    };
    for (const [key, value] of Object.entries(stringData)) add(key, value);
    for (const [key, value] of Object.entries(data)) add(key, Buffer.from(value, 'base64').toString());
  }

  return {
    onApplied(objects) {
      for (const object of objects) if ('kind' in object && object.kind === 'Secret') note(object);
    },
    onProcess: (name, process) => void processes.push({ name, process }),
    onFolder: (name, folder) => void folders.push({ name, folder }),
    async readCluster(client) {
      const list = async (resource: Resource): Promise<readonly unknown[]> => {
        const answer = await client.call({ method: 'GET', path: collectionPath(resource) });
        return z.object({ items: z.array(z.unknown()) }).parse(answer).items;
      };
      try {
        for (const object of await list(secrets)) note(object);
        for (const resource of [events, configMaps, ...ours])
          shown[`the ${resource.plural}`] = JSON.stringify(await list(resource));
      } catch (error) {
        if (!(error instanceof KubeError)) throw error;
      }
    },
    async expectKept() {
      const texts: Record<string, string> = { ...shown };
      for (const [index, { name, process }] of processes.entries())
        texts[`what ${name} wrote (${index})`] = process.stdout() + process.stderr();
      for (const { name, folder } of folders) {
        const journal = join(folder, 'journal');
        const files = await readdir(journal).catch(() => []);
        const contents = await Promise.all(files.map((file) => readFile(join(journal, file), 'utf8')));
        texts[`the journal of ${name}`] = contents.join('\n');
      }
      const step = Math.ceil(values.size / searchedMax);
      const searched = new Map([...values].filter((_, index) => index % step === 0));
      const leaks = findLeaks(searched, texts);
      if (leaks.length > 0) throw new Error(`values of Secrets were shown: ${leaks.join('; ')}`);
    },
  };
}
