// Can they be taken out of images? Where there is Docker, from the images that Kubernetes and Helm publish. The programs then
// run here, not in containers: tests stop, freeze and restart them.

import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { etcdVersion, helmVersion, hostPlatform, kubernetesVersion, type ProgramName } from '../programs.ts';
import { run } from '../run.ts';
import type { Kit, Source } from './source.ts';

export interface ProgramImage {
  readonly image: string;
  /** Of the program inside. */
  readonly path: string;
  /** Makes it say something and end well. */
  readonly args: readonly string[];
}

const publicImages: Record<ProgramName, ProgramImage> = {
  etcd: {
    image: `registry.k8s.io/etcd:${etcdVersion}-0`,
    path: '/usr/local/bin/etcd',
    args: ['--version'],
  },
  'kube-apiserver': {
    image: `registry.k8s.io/kube-apiserver:v${kubernetesVersion}`,
    path: '/usr/local/bin/kube-apiserver',
    args: ['--version'],
  },
  kubectl: {
    image: `registry.k8s.io/kubectl:v${kubernetesVersion}`,
    path: '/bin/kubectl',
    args: ['version', '--client'],
  },
  'kube-controller-manager': {
    image: `registry.k8s.io/kube-controller-manager:v${kubernetesVersion}`,
    path: '/usr/local/bin/kube-controller-manager',
    args: ['--version'],
  },
  helm: { image: `alpine/helm:${helmVersion}`, path: '/usr/bin/helm', args: ['version'] },
};

export const dockerSource = makeDockerSource(publicImages);

export function makeDockerSource(images: Record<ProgramName, ProgramImage>): Source {
  return {
    name: 'Docker',
    async bring(missing, kit) {
      const { os } = hostPlatform();
      if (os !== 'linux') throw new Error(`the programs in images are for Linux, this is ${os}`);
      const { getContainerRuntimeClient } = await loadTestcontainers();
      await getContainerRuntimeClient().catch(() => {
        throw new Error('there is no Docker that answers');
      });
      for (const name of missing) {
        kit.signal.throwIfAborted();
        kit.say(`taking ${name} out of the image ${images[name].image}`);
        await kit.keep(name, await takeOut(name, images[name], kit));
      }
    },
  };
}

async function takeOut(name: ProgramName, { image, path, args }: ProgramImage, kit: Kit): Promise<string> {
  const { GenericContainer, Wait } = await loadTestcontainers();
  const container = await new GenericContainer(image)
    .withEntrypoint([path])
    .withCommand([...args])
    .withWaitStrategy(Wait.forOneShotStartup())
    .start();
  try {
    const archive = join(kit.scratch, `${name}.tar`);
    await pipeline(await container.copyArchiveFromContainer(path), createWriteStream(archive));
    const { code, lastLine } = await run('tar', ['-xf', archive, '-C', kit.scratch]);
    if (code !== 0) throw new Error(`${path} of ${image} cannot be unpacked (${lastLine})`);
    return join(kit.scratch, path.slice(path.lastIndexOf('/') + 1));
  } finally {
    await container.stop();
  }
}

/** Half a second that most runs need not spend. */
function loadTestcontainers() {
  return import('testcontainers');
}
