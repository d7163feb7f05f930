// Does anything that an installation wrote show the value of a Secret? Asked of each installation when it is stopped, whatever its
// tests were about: of the output and the metrics of its processes, of their files and journals, and of what its API server shows to
// others. Of every Secret, every value is looked for that it ever had.

import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { systemClock } from '../../../core/clock.ts';
import { POINTER_DATA } from '../../../core/contract/manifest.ts';
import type { KubeClient } from '../../../core/kube/client.ts';
import { collectionPath, configMaps, events, type Resource, secrets } from '../../../core/kube/paths.ts';
import { startReflector } from '../../../core/kube/watch.ts';
import { findLeaks, type Secrets, type Texts } from '../../security/leaks.ts';
import type { RunningProcess } from '../../support/process.ts';

export interface Secrecy {
  onProcess(name: string, process: RunningProcess): void;
  onMetrics(name: string, url: string): void;
  /** Of a pod: its journal and what else lies there are read. */
  onFolder(name: string, folder: string): void;
  /** To be called before anything is stopped. Never rejects: what has ended already shows no metrics. */
  readMetrics(): Promise<void>;
  /** To be called while the API server still runs. */
  readCluster(): Promise<void>;
  /** To be called once all processes have ended. */
  searched(): Promise<Searched>;
  close(): Promise<void>;
}

export interface Searched {
  readonly values: Secrets;
  /** By place, which begins with one of the kinds. */
  readonly texts: Texts;
}

/** What every installation has, and so has to be there to be searched. */
export const searchedKinds = ['output', 'metrics', 'journal', 'files', 'events', 'objects'] as const;

/** @throws with the names of the Secrets and the places, never a value; and where there was nothing to search. */
export function expectKept({ values, texts }: Searched): void {
  if (values.size === 0) throw new Error('no Secret was seen, so nothing was looked for');
  for (const kind of ['output', 'metrics', 'events', 'objects'])
    if (!Object.entries(texts).some(([place, text]) => place.startsWith(kind) && text !== ''))
      throw new Error(`no ${kind} was there to be searched for the values of Secrets`);
  const leaks = findLeaks(values, texts);
  if (leaks.length > 0) throw new Error(`values of Secrets were shown: ${leaks.slice(0, 20).join('; ')}`);
}

const secretSchema = z.object({
  metadata: z.object({ name: z.string(), namespace: z.string().optional() }),
  data: z.record(z.string(), z.string()).optional(),
});

const pageSchema = z.object({
  metadata: z.object({ continue: z.string().optional() }),
  items: z.array(z.unknown()),
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

export function watchSecrecy(client: KubeClient): Secrecy {
  const values = new Map<string, string>();
  const processes: { readonly name: string; readonly process: RunningProcess }[] = [];
  const pages: { readonly name: string; readonly url: string }[] = [];
  const folders: { readonly name: string; readonly folder: string }[] = [];
  const shown: Record<string, string> = {};
  // A key that is rotated, or deleted, may be nowhere at the end.
  const watch = startReflector({
    client,
    clock: systemClock,
    random: Math.random,
    path: collectionPath(secrets),
    convert: note,
    onEvent() {},
  });
  watch.synced.catch(() => {});

  function note(object: unknown): void {
    const parsed = secretSchema.safeParse(object);
    if (!parsed.success) return;
    const { metadata, data = {} } = parsed.data;
    for (const [key, encoded] of Object.entries(data)) {
      const value = Buffer.from(encoded, 'base64').toString();
      if (unsearched.has(key) || value === '' || values.has(value)) continue;
      values.set(value, `${metadata.namespace}/${metadata.name} ${key} #${values.size}`);
    }
  }

  return {
    onProcess: (name, process) => void processes.push({ name, process }),
    onMetrics: (name, url) => void pages.push({ name, url }),
    onFolder: (name, folder) => void folders.push({ name, folder }),
    async readMetrics() {
      const read = async ({ name, url }: (typeof pages)[number], index: number): Promise<void> => {
        const answer = await fetch(`${url}/metrics`, { signal: AbortSignal.timeout(5_000) });
        shown[`metrics of ${name} (${index})`] = await answer.text();
      };
      await Promise.allSettled(pages.map(read));
    },
    async readCluster() {
      /** As they are, with what the client leaves out; in pages, as fifty thousand fit into no answer. */
      const list = async (resource: Resource): Promise<readonly unknown[]> => {
        const items: unknown[] = [];
        let position: string | undefined;
        do {
          const query = { limit: 500, continue: position };
          const page = pageSchema.parse(
            await client.call({ method: 'GET', path: collectionPath(resource), query }),
          );
          items.push(...page.items);
          position = page.metadata.continue;
        } while (position);
        return items;
      };
      for (const object of await list(secrets)) note(object);
      shown.events = JSON.stringify(await list(events));
      for (const resource of [configMaps, ...ours])
        shown[`objects: ${resource.plural}`] = JSON.stringify(await list(resource));
    },
    async searched() {
      const texts: Record<string, string> = { ...shown };
      for (const [index, { name, process }] of processes.entries())
        texts[`output of ${name} (${index})`] = process.stdout() + process.stderr();
      for (const { name, folder } of folders) {
        texts[`journal of ${name}`] = await readFiles(join(folder, 'journal'));
        // Where a dump or a report of a crash would lie.
        texts[`files of ${name}`] = await readFiles(folder);
      }
      return { values: new Map([...values].map(([value, name]) => [name, value])), texts };
    },
    close: () => watch.close(),
  };
}

async function readFiles(folder: string): Promise<string> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  const files = entries.filter((entry) => entry.isFile()).map(({ name }) => join(folder, name));
  const contents = await Promise.all(files.map((file) => readFile(file, 'latin1')));
  return contents.join('\n');
}
