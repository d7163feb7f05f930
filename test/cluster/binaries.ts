// Where are the programs of the test cluster? Named by KUBEBUILDER_ASSETS, in the cache, or brought into the cache now: built,
// downloaded, or taken out of images, whichever is possible first.

import { access, chmod, constants, mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { withLock } from '../support/lock.ts';
import {
  envtestNames,
  kubernetesVersion,
  type ProgramName,
  type Programs,
  programCacheFolder,
  programNames,
} from './programs.ts';
import { run } from './run.ts';
import { dockerSource } from './sources/docker.ts';
import { downloadSource } from './sources/download.ts';
import { goSource } from './sources/go.ts';
import type { Kit, Source } from './sources/source.ts';

export interface FindOptions {
  readonly env?: NodeJS.ProcessEnv;
  readonly cacheFolder?: string;
  readonly sources?: readonly Source[];
  /** Where progress goes. */
  readonly say?: (line: string) => void;
  readonly signal?: AbortSignal;
}

/** @throws one sentence that names what was tried and the way out. */
export async function findPrograms(options: FindOptions = {}): Promise<Programs> {
  const env = options.env ?? process.env;
  const folder = options.cacheFolder ?? programCacheFolder(env);
  const sources = options.sources ?? [goSource, downloadSource, dockerSource];
  const say = options.say ?? (() => {});
  const signal = options.signal ?? new AbortController().signal;

  const found = await fillCache(
    { names: programNames, questions, folder, sources, found: await fromAssets(env) },
    { env, say, signal, reasons: env.KUBEBUILDER_ASSETS ? [] : ['KUBEBUILDER_ASSETS is not set'] },
    (missing, reasons) =>
      `The tests need a Kubernetes control plane, and there was no way to get ${missing.join(', ')} (${reasons.join('; ')}): install Go 1.26 or newer, or allow downloads from github.com, dl.k8s.io and get.helm.sh, or start Docker, or put the programs into ${folder}, and run again`,
  );
  return complete(found);
}

export interface ProgramSet<Name extends string> {
  readonly names: readonly Name[];
  /** What makes each say its version and end well. */
  readonly questions: Readonly<Record<Name, readonly string[]>>;
  /** The cache. */
  readonly folder: string;
  readonly sources: readonly Source<Name>[];
  /** Those that are somewhere else already. */
  readonly found?: readonly (readonly [Name, string])[];
}

/**
 * The path of every program of the set: found, in its cache, or brought there now.
 *
 * @throws the sentence that `complain` makes of the missing names and of the reasons.
 */
export async function fillCache<Name extends string>(
  set: ProgramSet<Name>,
  kit: Pick<Kit, 'env' | 'say' | 'signal'> & { readonly reasons?: readonly string[] },
  complain: (missing: readonly Name[], reasons: readonly string[]) => string,
): Promise<Map<Name, string>> {
  const { names, folder, sources } = set;
  const { env, say, signal } = kit;
  const found = new Map<Name, string>(set.found);
  const addCached = async () => {
    for (const name of names) {
      const path = join(folder, name);
      if (!found.has(name) && (await isProgram(path))) found.set(name, path);
    }
  };
  const missing = () => names.filter((name) => !found.has(name));
  await addCached();
  if (missing().length === 0) return found;

  await mkdir(folder, { recursive: true });
  const reasons = [...(kit.reasons ?? [])];
  await withLock(
    `${folder}.lock`,
    async () => {
      await addCached();
      // Of a run that was killed: some gigabytes.
      await removeUnfinished(folder);
      for (const source of sources) {
        if (missing().length === 0) return;
        signal.throwIfAborted();
        const scratch = await mkdtemp(`${folder}${unfinished}`);
        try {
          await source.bring(missing(), { env, scratch, say, signal, keep: keepIn(folder, set.questions) });
        } catch (error) {
          signal.throwIfAborted();
          const reason = error instanceof Error ? error.message : String(error);
          reasons.push(`${source.name}: ${reason}`);
          say(`${source.name} did not work: ${reason}`);
        } finally {
          await rm(scratch, { recursive: true, force: true });
        }
        await addCached();
      }
    },
    { signal, onWait: () => say('another process is preparing the programs; waiting for it') },
  );
  signal.throwIfAborted();
  if (missing().length > 0) throw new Error(complain(missing(), reasons));
  return found;
}

const unfinished = '.unfinished-';

async function removeUnfinished(folder: string): Promise<void> {
  const prefix = `${basename(folder)}${unfinished}`;
  for (const name of await readdir(dirname(folder)))
    if (name.startsWith(prefix)) await rm(join(dirname(folder), name), { recursive: true, force: true });
}

async function fromAssets(env: NodeJS.ProcessEnv): Promise<[ProgramName, string][]> {
  const folder = env.KUBEBUILDER_ASSETS;
  if (!folder) return [];
  const entries = envtestNames.map((name): [ProgramName, string] => [name, join(folder, name)]);
  for (const [name, path] of entries) {
    if (!(await isProgram(path)))
      throw new Error(
        `KUBEBUILDER_ASSETS is ${folder}, and there is no program ${name} in it: put etcd, kube-apiserver and kubectl ${kubernetesVersion} there, or unset it`,
      );
  }
  return entries;
}

const questions: Record<ProgramName, readonly string[]> = {
  etcd: ['--version'],
  'kube-apiserver': ['--version'],
  kubectl: ['version', '--client'],
  'kube-controller-manager': ['--version'],
  helm: ['version'],
};

/** What has its final name in the cache is whole: asked for its version first, and renamed last. */
function keepIn<Name extends string>(
  folder: string,
  asked: ProgramSet<Name>['questions'],
): Kit<Name>['keep'] {
  return async (name, file) => {
    await chmod(file, 0o755);
    const answer = await run(file, asked[name], { timeoutMs: 60_000 });
    if (answer.code !== 0)
      throw new Error(`the ${name} it gave does not run here (${answer.lastLine || `code ${answer.code}`})`);
    await rename(file, join(folder, name));
  };
}

function complete(found: ReadonlyMap<ProgramName, string>): Programs {
  const path = (name: ProgramName): string => {
    const value = found.get(name);
    if (value === undefined) throw new Error(`${name} is missing after all was found`);
    return value;
  };
  return {
    etcd: path('etcd'),
    'kube-apiserver': path('kube-apiserver'),
    kubectl: path('kubectl'),
    'kube-controller-manager': path('kube-controller-manager'),
    helm: path('helm'),
  };
}

function isProgram(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
}
