// Does a container engine make of the Dockerfile what our packer makes, and do both run as the chart runs them: as a user without
// rights, on a root file system that cannot be written? No registry is asked: the base is the packer's first layer.

import { createReadStream } from 'node:fs';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { GenericContainer, getContainerRuntimeClient, type StartedTestContainer, Wait } from 'testcontainers';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { buildDist } from '../../tools/pack/bundles.ts';
import { compiledAhead, image } from '../../tools/pack/contents.ts';
import { buildLayer } from '../../tools/pack/layer.ts';
import { packImage } from '../../tools/pack/pack.ts';
import { readRuntime } from '../../tools/pack/runtime.ts';
import { root as project } from '../architecture/project.ts';
import { type DockerEngine, useDockerEngine } from '../support/docker-engine.ts';

const built = 'penstock-e2e:built';
const base = 'penstock-e2e-base:latest';
let packed: string;
let engine: DockerEngine | undefined;
let folder: string | undefined;

beforeAll(async () => {
  engine = await useDockerEngine();
  folder = await mkdtemp(join(tmpdir(), 'penstock-images-'));
  const dist = join(project, 'dist');
  await buildDist(project, dist);
  const { archive, reference } = await packImage({ dist, node: process.execPath, folder });
  packed = reference.replace('docker.io/library/', '');
  const { container } = await getContainerRuntimeClient();
  const { dockerode } = container;
  await done(await dockerode.loadImage(createReadStream(archive)));
  const { bytes } = await buildLayer((await readRuntime(process.execPath)).entries);
  const [repo = '', tag = ''] = base.split(':');
  await done(await dockerode.importImage(Readable.from([bytes]), { repo, tag }));
  const startedMs = performance.now();
  await GenericContainer.fromDockerfile(project)
    .withBuildArgs({ BASE: base, BUNDLES: 'prebuilt' })
    .withBuildkit()
    .build(built, { deleteOnExit: false });
  console.info(`the Dockerfile was built in ${Math.round(performance.now() - startedMs)} ms`);
});

afterAll(async () => {
  if (engine === undefined) return;
  const { container } = await getContainerRuntimeClient();
  for (const name of [built, packed, base]) {
    // One that was not made is not there.
    await container.dockerode
      .getImage(name)
      .remove({ force: true })
      .catch(() => {});
  }
  await engine.stop();
  if (folder !== undefined) await rm(folder, { recursive: true, force: true });
});

test('both images start the same process in the same way', async () => {
  const { container } = await getContainerRuntimeClient();
  const configs = await Promise.all(
    [built, packed].map(async (name) => {
      const { Config } = await container.dockerode.getImage(name).inspect();
      const { User, WorkingDir, Entrypoint, Cmd, Env, Labels } = Config;
      // testcontainers marks what it builds.
      const ours = Object.entries(Labels).filter(([label]) => !label.startsWith('org.testcontainers'));
      return { User, WorkingDir, Entrypoint, Cmd, Env: [...Env].sort(), Labels: Object.fromEntries(ours) };
    }),
  );
  expect(configs[0]).toEqual(configs[1]);
  expect(configs[0]?.User).toBe('65532:65532');
});

test('both images have the same files of ours, to the byte and the mode', async () => {
  const listings = await Promise.all(
    [built, packed].map((name) => withContainer(gatewayOf(name), (container) => listFiles(container))),
  );
  expect(listings[0]).toEqual(listings[1]);
  const inFolders = await Promise.all(
    image.folders.map((path) => readdir(join(project, path), { recursive: true, withFileTypes: true })),
  );
  const pages = inFolders.flat().filter((entry) => entry.isFile());
  expect(Object.keys(listings[0] ?? {})).toHaveLength(
    image.files.length + pages.length + compiledAhead.length,
  );
});

describe.each([
  ['built from the Dockerfile', () => built],
  ['packed', () => packed],
])('the image that is %s', (_, name) => {
  test('runs a gateway without rights on a read-only root', async () => {
    await withContainer(gatewayOf(name()), async (container) => {
      const healthy = await fetch(`http://${container.getHost()}:${container.getMappedPort(9090)}/healthz`);
      expect(healthy.status).toBe(200);
      expect(await say(container, 'process.getuid() + " " + process.getgid()')).toBe('65532 65532');
      const write = "try { require('fs').writeFileSync('/app/x', ''); 'written' } catch (e) { e.code }";
      expect(await say(container, write)).toBe('EROFS');
    });
  });

  test('runs a simulator', async () => {
    const simulator = new Locked(name())
      .withCommand(['dist/simulator.js'])
      .withEnvironment({ HOST: '0.0.0.0', PORT: '9000' })
      .withExposedPorts(9000)
      .withWaitStrategy(Wait.forHttp('/v1/models', 9000));
    await withContainer(simulator, async (container) => {
      const models = await fetch(`http://${container.getHost()}:${container.getMappedPort(9000)}/v1/models`);
      expect(models.status).toBe(200);
    });
  });

  test('starts gateway and operator from compiled code', async () => {
    await withContainer(gatewayOf(name()), async (container) => {
      for (const process of compiledAhead) {
        const { output } = await container.exec(['node', '--max-old-space-size=256', `dist/${process}.js`], {
          env: { NODE_DEBUG_NATIVE: 'COMPILE_CACHE', PENSTOCK_JOURNAL_DIR: '' },
        });
        expect(output).toContain(`/app/dist/${process}.js was accepted`);
        expect(output).toContain('could not start');
      }
    });
  });
});

/** As the chart runs it: nothing can be written, nothing gained. */
class Locked extends GenericContainer {
  constructor(name: string) {
    super(name);
    this.hostConfig.ReadonlyRootfs = true;
    this.withDroppedCapabilities('ALL').withSecurityOpt('no-new-privileges');
  }
}

function gatewayOf(name: string): GenericContainer {
  return new Locked(name)
    .withEnvironment({
      PENSTOCK_TABLE_FILE: '/journal/no-table.json',
      PENSTOCK_JOURNAL_DIR: '/journal',
      PENSTOCK_DRAIN_ACCEPT_MS: '0',
    })
    .withTmpFs({ '/journal': 'uid=65532' })
    .withExposedPorts(9090)
    .withWaitStrategy(Wait.forHttp('/healthz', 9090));
}

async function withContainer<T>(
  container: GenericContainer,
  use: (started: StartedTestContainer) => Promise<T>,
): Promise<T> {
  const started = await container.start();
  try {
    return await use(started);
  } finally {
    await started.stop();
  }
}

/** What an expression is, inside the container. */
async function say(container: StartedTestContainer, expression: string): Promise<string> {
  const { output } = await container.exec(['node', '--print', expression]);
  return output.trim();
}

/** Mode, owner and sum of every file below /app. */
async function listFiles(container: StartedTestContainer): Promise<Record<string, string>> {
  const text = await say(
    container,
    `const fs = require('fs'), files = {};
    for (const one of fs.readdirSync('${image.folder}', { recursive: true, withFileTypes: true })) {
      if (!one.isFile()) continue;
      const path = one.parentPath + '/' + one.name, { mode, uid, gid } = fs.statSync(path);
      const sum = require('crypto').createHash('sha256').update(fs.readFileSync(path)).digest('hex');
      files[path] = [mode.toString(8), uid, gid, sum].join(' ');
    }
    JSON.stringify(files)`,
  );
  return z.record(z.string(), z.string()).parse(JSON.parse(text));
}

/** The engine answers while it works; it has done so when its answer ends. */
async function done(answer: NodeJS.ReadableStream): Promise<void> {
  const text = String(await buffer(answer));
  if (text.includes('"errorDetail"')) throw new Error(text.trim());
}
