// Which programs do real nodes need beside those of the control plane, and where are they? A second set with a cache of its own:
// a control plane alone never meets it.

import { fileURLToPath } from 'node:url';
import { type FindOptions, fillCache, findPrograms, type ProgramSet } from '../binaries.ts';
import {
  cacheFolderOf,
  goBuildFlags,
  kubernetesStamps,
  kubernetesVersion,
  type Programs,
} from '../programs.ts';
import { makeReleaseSource } from '../sources/download.ts';
import { makeGoSource } from '../sources/go.ts';

const planePrograms = ['kube-apiserver', 'kube-controller-manager', 'kubectl'] as const;
const nodePrograms = ['kubelet', 'kube-proxy', 'kube-scheduler'] as const;
type NodeProgramName = (typeof planePrograms | typeof nodePrograms)[number];
export type NodePrograms = Programs & Readonly<Record<(typeof nodePrograms)[number], string>>;

/**
 * The newest is the one of the control plane, which has its own programs already; of an older one all are brought but etcd and
 * helm, which serve both.
 */
const releases = {
  '1.36': { version: kubernetesVersion, names: nodePrograms },
  '1.34': { version: '1.34.4', names: [...planePrograms, ...nodePrograms] },
} as const;
export type KubernetesMinor = keyof typeof releases;

/** The chart is installed on nodes of it in `npm run e2e`. */
export const oldestKubernetes = '1.34' satisfies KubernetesMinor;

/** The chart takes none that is older: an API server of 1.32.2 took every set of values (`--dry-run=server`) and held the policies. */
export const oldestApiServer = '1.32';

const packages = {
  'kube-apiserver': { path: 'k8s.io/kubernetes/cmd/kube-apiserver', usually: 'about 5 minutes' },
  'kube-controller-manager': {
    path: 'k8s.io/kubernetes/cmd/kube-controller-manager',
    usually: 'about 1 minute',
  },
  kubectl: { path: 'k8s.io/kubernetes/cmd/kubectl', usually: 'under a minute' },
  kubelet: { path: 'k8s.io/kubernetes/cmd/kubelet', usually: 'about 5 minutes' },
  'kube-proxy': { path: 'k8s.io/kubernetes/cmd/kube-proxy', usually: 'under a minute' },
  'kube-scheduler': { path: 'k8s.io/kubernetes/cmd/kube-scheduler', usually: 'under a minute' },
} as const satisfies Record<NodeProgramName, unknown>;

const asked: ProgramSet<NodeProgramName>['questions'] = {
  'kube-apiserver': ['--version'],
  'kube-controller-manager': ['--version'],
  kubectl: ['version', '--client'],
  kubelet: ['--version'],
  'kube-proxy': ['--version'],
  'kube-scheduler': ['--version'],
};

/** @throws one sentence that names what was tried and the way out. */
export async function findNodePrograms(
  minor: KubernetesMinor = '1.36',
  options: Pick<FindOptions, 'env' | 'say' | 'signal'> = {},
): Promise<NodePrograms> {
  const env = options.env ?? process.env;
  const plane = await findPrograms(options);
  const { version, names } = releases[minor];
  const module = {
    label: `nodes-${version}`,
    folder: fileURLToPath(new URL(`binaries/${minor}/`, import.meta.url)),
    buildFlags: goBuildFlags(kubernetesStamps(version)),
    packages,
  };
  const folder = cacheFolderOf(module, env);
  const found = await fillCache<NodeProgramName>(
    { names, questions: asked, folder, sources: [makeGoSource(module), makeReleaseSource(version)] },
    {
      env,
      say: options.say ?? (() => {}),
      signal: options.signal ?? new AbortController().signal,
    },
    (missing, reasons) =>
      `The tests need Kubernetes nodes, and there was no way to get ${missing.join(', ')} (${reasons.join('; ')}): install Go 1.26 or newer, or allow downloads from dl.k8s.io, or put the programs of ${version} into ${folder}, and run again`,
  );
  const path = (name: (typeof nodePrograms)[number]): string => {
    const value = found.get(name);
    if (value === undefined) throw new Error(`${name} is missing after all was found`);
    return value;
  };
  return {
    ...plane,
    ...Object.fromEntries(found),
    kubelet: path('kubelet'),
    'kube-proxy': path('kube-proxy'),
    'kube-scheduler': path('kube-scheduler'),
  };
}
