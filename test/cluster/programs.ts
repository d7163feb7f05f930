// Which programs is the test cluster made of, in which version, and where are they kept?

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** In the order in which they are built: with the first two a server can start. */
export const programNames = ['etcd', 'kube-apiserver', 'kubectl', 'kube-controller-manager', 'helm'] as const;
export type ProgramName = (typeof programNames)[number];
export type Programs = Readonly<Record<ProgramName, string>>;

/** Those of an envtest archive, and of a KUBEBUILDER_ASSETS folder. */
export const envtestNames = ['etcd', 'kube-apiserver', 'kubectl'] as const satisfies readonly ProgramName[];

export const kubernetesVersion = '1.36.3';
export const helmVersion = '3.22.0';
export const etcdVersion = '3.6.8';

/** The module that pins them; nothing of it is ours but the list. */
export const moduleFolder = fileURLToPath(new URL('binaries/', import.meta.url));

const kubernetesPackage = 'k8s.io/component-base/version';
const helmPackage = 'helm.sh/helm/v3';

/** Without them a server calls itself v0.0.0-master, and helm refuses charts that ask for a version. */
export function kubernetesStamps(version: string): Record<string, string> {
  const [major = '', minor = ''] = version.split('.');
  return {
    [`${kubernetesPackage}.gitVersion`]: `v${version}`,
    [`${kubernetesPackage}.gitMajor`]: major,
    [`${kubernetesPackage}.gitMinor`]: minor,
    [`${kubernetesPackage}.gitTreeState`]: 'clean',
  };
}

/** Without them helm takes every server for 1.20. */
function helmStamps(): Record<string, string> {
  const [major = '', minor = ''] = kubernetesVersion.split('.');
  return {
    [`${helmPackage}/internal/version.version`]: `v${helmVersion}`,
    [`${helmPackage}/pkg/chartutil.k8sVersionMajor`]: major,
    [`${helmPackage}/pkg/chartutil.k8sVersionMinor`]: minor,
    [`${helmPackage}/pkg/lint/rules.k8sVersionMajor`]: major,
    [`${helmPackage}/pkg/lint/rules.k8sVersionMinor`]: minor,
  };
}

export function goBuildFlags(stamps: Readonly<Record<string, string>>): readonly string[] {
  return [
    '-mod=readonly',
    '-trimpath',
    '-ldflags',
    ['-s -w', ...Object.entries(stamps).map(([name, value]) => `-X ${name}=${value}`)].join(' '),
  ];
}

export const buildFlags = goBuildFlags({ ...kubernetesStamps(kubernetesVersion), ...helmStamps() });

/** As Go and the download pages call it: `linux-amd64`. */
export function hostPlatform(): { os: string; arch: string } {
  return {
    os: process.platform === 'win32' ? 'windows' : process.platform,
    arch: { x64: 'amd64', ia32: '386' }[process.arch as string] ?? process.arch,
  };
}

/**
 * `$XDG_CACHE_HOME/penstock/cluster/<version>-<platform>-<digest>`, else below `~/.cache`: outside the checkout, and another
 * folder for whatever would give other programs.
 */
export function programCacheFolder(env: NodeJS.ProcessEnv = process.env): string {
  return cacheFolderOf({ label: kubernetesVersion, folder: moduleFolder, buildFlags }, env);
}

/** The same for programs of another module, which are built, kept and outdated by themselves. */
export function cacheFolderOf(
  module: { readonly label: string; readonly folder: string; readonly buildFlags: readonly string[] },
  env: NodeJS.ProcessEnv = process.env,
): string {
  const { os, arch } = hostPlatform();
  const digest = createHash('sha256');
  for (const file of ['go.sum', 'tools.go']) digest.update(readFileSync(join(module.folder, file)));
  digest.update(module.buildFlags.join('\n'));
  return join(
    env.XDG_CACHE_HOME || join(homedir(), '.cache'),
    'penstock',
    'cluster',
    `${module.label}-${os}-${arch}-${digest.digest('hex').slice(0, 16)}`,
  );
}
