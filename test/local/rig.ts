// Local mode inside the test: a manifests folder and a state folder of its own, free ports, and every
// printed line to wait for.

import { mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { LocalSettings } from '../../local/settings.ts';
import { type RunningLocal, startLocal } from '../../local/start.ts';
import { type Simulator, startSimulator } from '../../simulator/server.ts';
import { freePort } from '../cluster/free-port.ts';

export const quickstart = new URL('../../docs/examples/quickstart/', import.meta.url).pathname;

export interface Folders {
  readonly manifests: string;
  readonly state: string;
  /** In place of built pages; not there unless a test asks for them. */
  readonly pages: string;
  /** In one step, so that nobody reads half of it. */
  write(name: string, content: string): Promise<void>;
  /** Replaces text in a file, in one step; it must be there. */
  edit(name: string, from: string | RegExp, to: string): Promise<void>;
  remove(): Promise<void>;
}

/** An empty manifests folder, and a state folder that does not exist yet. */
export async function makeFolders(): Promise<Folders> {
  const root = await mkdtemp(join(tmpdir(), 'penstock-local-'));
  const manifests = join(root, 'manifests');
  await mkdir(manifests);
  const write = async (name: string, content: string) => {
    const aside = join(root, name);
    await writeFile(aside, content);
    await rename(aside, join(manifests, name));
  };
  return {
    manifests,
    state: join(root, 'state'),
    pages: join(root, 'pages'),
    write,
    async edit(name, from, to) {
      const before = await readFile(join(manifests, name), 'utf8');
      const after = before.replace(from, to);
      if (after === before) throw new Error(`${name} does not hold ${String(from)}`);
      await write(name, after);
    },
    remove: () => rm(root, { recursive: true, force: true }),
  };
}

/**
 * The manifests that everybody starts with, with the simulator where it is in this test. One file after the other, none of them ever
 * in another form: over an edited copy, the file that differs is all that changes.
 */
export async function copyQuickstart(folders: Folders, simulatorPort: number): Promise<void> {
  for (const name of await readdir(quickstart)) {
    const content = await readFile(join(quickstart, name), 'utf8');
    await folders.write(name, content.replaceAll('9100', String(simulatorPort)));
  }
}

/** So that there is a dashboard. */
export async function makePages({ pages }: Pick<Folders, 'pages'>): Promise<void> {
  await mkdir(pages);
  await writeFile(join(pages, 'index.html'), '<!doctype html><title>Penstock</title>');
}

export interface LocalRig extends Folders {
  readonly local: RunningLocal;
  /** The provider behind the manifests. */
  readonly upstream: Simulator;
  readonly url: string;
  readonly printed: readonly string[];
  /** The next printed text that matches, after the one that was returned last; waits for it. */
  next(pattern: RegExp): Promise<string>;
  /** The key that the welcome shows. */
  readonly key: string;
  ask(model: string, key?: string): Promise<Answer>;
  /** Model ids of the listing. */
  models(key?: string): Promise<readonly string[]>;
  close(): Promise<void>;
}

export interface Answer {
  readonly status: number;
  readonly text: string;
  readonly attempts: string | null;
}

export interface RigOptions {
  readonly settings?: Partial<LocalSettings>;
  /** Called before the start; without it the quickstart manifests are there. */
  prepare?(folders: Folders, upstream: Simulator): Promise<void>;
  /** Those of another rig, which removes them. */
  readonly folders?: Folders;
}

export async function startLocalRig(options: RigOptions = {}): Promise<LocalRig> {
  await using started = new AsyncDisposableStack();
  const folders = options.folders ?? (await makeFolders());
  if (options.folders === undefined) started.defer(folders.remove);
  // Held by the test, so that its port is known before the manifests are written.
  const upstream = await startSimulator();
  started.defer(() => upstream.close());
  if (options.prepare) await options.prepare(folders, upstream);
  else if (options.folders === undefined) await copyQuickstart(folders, upstream.port);
  const lines = makeLines();
  const local = await startLocal(settingsFor(folders, options.settings), lines.print);
  started.defer(() => local.close());
  const { url } = local.gateway;
  const welcome = await lines.next(/Penstock serves/);
  const key = /psk_\w+/.exec(welcome)?.[0] ?? '';
  const parts = started.move();
  return {
    ...folders,
    local,
    upstream,
    url,
    printed: lines.all,
    next: lines.next,
    key,
    ask: (model, asKey = key) => ask(url, asKey, model),
    models: (asKey) => listModels(url, asKey),
    close: () => parts.disposeAsync(),
  };
}

/** For processes with given ports: no other test takes them at the same time. */
export async function freePorts(count: number): Promise<[number, ...number[]]> {
  const ports = new Set<number>();
  while (ports.size < count) ports.add(await freePort());
  const [first = 0, ...rest] = ports;
  return [first, ...rest];
}

export function settingsFor(folders: Folders, more: Partial<LocalSettings> = {}): LocalSettings {
  return {
    port: 0,
    metricsPort: 0,
    simulatorPort: 0,
    dashboardPort: 0,
    pagesFolder: folders.pages,
    manifestsFolder: folders.manifests,
    stateFolder: folders.state,
    openAi: { apiKey: undefined, baseUrl: undefined },
    anthropic: { apiKey: undefined, baseUrl: undefined },
    gemini: { apiKey: undefined },
    ...more,
  };
}

export async function ask(url: string, key: string, model: string): Promise<Answer> {
  const answer = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: 'Hello' }] }),
  });
  return {
    status: answer.status,
    text: await answer.text(),
    attempts: answer.headers.get('x-penstock-attempts'),
  };
}

export async function listModels(url: string, key?: string): Promise<readonly string[]> {
  return (await describeModels(url, key)).map(({ id }) => id);
}

export async function describeModels(
  url: string,
  key?: string,
): Promise<readonly { readonly id: string; readonly created: number }[]> {
  const answer = await fetch(`${url}/v1/models`, {
    headers: key === undefined ? {} : { authorization: `Bearer ${key}` },
  });
  const body = (await answer.json()) as { data: { id: string; created: number }[] };
  return body.data;
}

function makeLines() {
  const all: string[] = [];
  let read = 0;
  let wake = (): void => {};
  return {
    all,
    print: (line: string): void => {
      all.push(line);
      wake();
    },
    async next(pattern: RegExp): Promise<string> {
      for (;;) {
        for (; read < all.length; ) {
          const line = all[read++] ?? '';
          if (pattern.test(line)) return line;
        }
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    },
  };
}
