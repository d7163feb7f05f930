// Can they be built here? With Go and its module proxy; the go.mod and go.sum of a module of ours pin every line.

import { join } from 'node:path';
import { goBuild } from '../../support/go-build.ts';
import { goCommand } from '../../support/go-command.ts';
import { buildFlags, moduleFolder, type ProgramName } from '../programs.ts';
import type { Source } from './source.ts';

/** A module that only names programs, so as to pin them. */
export interface GoModule<Name extends string> {
  readonly folder: string;
  readonly buildFlags: readonly string[];
  readonly packages: Readonly<Record<Name, { readonly path: string; readonly usually: string }>>;
}

const packages: GoModule<ProgramName>['packages'] = {
  etcd: { path: 'go.etcd.io/etcd/server/v3', usually: 'about 1 minute' },
  'kube-apiserver': { path: 'k8s.io/kubernetes/cmd/kube-apiserver', usually: 'about 3 minutes' },
  kubectl: { path: 'k8s.io/kubernetes/cmd/kubectl', usually: 'under a minute' },
  'kube-controller-manager': {
    path: 'k8s.io/kubernetes/cmd/kube-controller-manager',
    usually: 'about 1 minute',
  },
  helm: { path: 'helm.sh/helm/v3/cmd/helm', usually: 'under a minute' },
};

export const goSource = makeGoSource({ folder: moduleFolder, buildFlags, packages });

export function makeGoSource<Name extends string>(module: GoModule<Name>): Source<Name> {
  return {
    name: 'building with Go',
    async bring(missing, { env, scratch, keep, say, signal }) {
      await goCommand(env);
      const buildEnv = {
        ...env,
        CGO_ENABLED: '0',
        GOFLAGS: '',
        GOWORK: 'off',
        // Some 3 GB; of no use once the programs are there.
        GOCACHE: join(scratch, 'go-build'),
      };
      for (const [index, name] of missing.entries()) {
        const { path, usually } = module.packages[name];
        const what = `building ${name} (${index + 1} of ${missing.length}, usually ${usually})`;
        const secondsSince = stopwatch();
        say(what);
        const timer = setInterval(() => say(`${what}, ${secondsSince()} s so far`), 20_000);
        const file = join(scratch, name);
        try {
          const built = await goBuild('build', [...module.buildFlags, '-o', file, path], {
            cwd: module.folder,
            env: buildEnv,
            signal,
          });
          signal.throwIfAborted();
          if (built.code !== 0) throw new Error(`${name} could not be built (${built.lastLine})`);
        } finally {
          clearInterval(timer);
        }
        await keep(name, file);
        say(`built ${name} in ${secondsSince()} s`);
      }
    },
  };
}

function stopwatch(): () => number {
  const start = performance.now();
  return () => Math.round((performance.now() - start) / 1_000);
}
