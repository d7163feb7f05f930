// Which images does a cluster without a registry start with? One static program each.

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { writeArchive } from '../../../tools/pack/archive.ts';
import { buildLayer } from '../../../tools/pack/layer.ts';
import { goTool } from '../../support/go-tool.ts';
import { hostPlatform } from '../programs.ts';
import { run } from '../run.ts';

export const pauseImage = 'penstock.test/pause:1';
export const dnsImage = 'penstock.test/coredns:1.15.0';
export const metricsImage = 'penstock.test/metrics-server:0.9.0';

/** Static: it is also the first process of a node. @throws with what the compiler said. */
export async function buildPause(folder: string): Promise<string> {
  const program = join(folder, 'pause');
  const source = fileURLToPath(new URL('pause.c', import.meta.url));
  const { code, stderr } = await run('gcc', ['-static', '-O1', '-s', '-o', program, source]);
  if (code !== 0) throw new Error(`gcc cannot build the pause program: ${stderr}`);
  return program;
}

export async function packPause(program: string, target: string): Promise<void> {
  await packProgram(target, program, { reference: pauseImage, path: '/pause', user: '65535:65535' });
}

export async function packDns(target: string): Promise<void> {
  const program = await goTool({ package: 'github.com/coredns/coredns', version: 'v1.15.0' });
  await packProgram(target, program, { reference: dnsImage, path: '/coredns' });
}

export async function packMetricsServer(target: string): Promise<void> {
  const program = await goTool({
    package: 'sigs.k8s.io/metrics-server/cmd/metrics-server',
    version: 'v0.9.0',
  });
  await packProgram(target, program, {
    reference: metricsImage,
    path: '/metrics-server',
    user: '65534:65534',
  });
}

/** `target`: the archive. `program`: where a static one is on this machine. */
export async function packProgram(
  target: string,
  program: string,
  image: { readonly reference: string; readonly path: string; readonly user?: string },
): Promise<void> {
  const { arch } = hostPlatform();
  if (arch !== 'amd64' && arch !== 'arm64')
    throw new Error(`images are packed for amd64 and arm64, not ${arch}`);
  const layer = await buildLayer([{ path: image.path, mode: 0o755, content: await readFile(program) }]);
  await writeArchive(target, {
    reference: image.reference,
    architecture: arch,
    config: { Entrypoint: [image.path], Env: {}, ...(image.user && { User: image.user }) },
    layers: [layer],
  });
}
