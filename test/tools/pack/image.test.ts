// Is the image whole that a build packs? It is unpacked, and the processes are started from it with nothing but its files. That another
// checkout gives the same image is seen by test/e2e/same-image.e2e.ts.

import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import packageJson from '../../../package.json' with { type: 'json' };
import { compiledAhead, image, onDemand, processes, urlInImage } from '../../../tools/pack/contents.ts';
import { type PackedImage, packImage } from '../../../tools/pack/pack.ts';
import { librariesIn } from '../../../tools/pack/runtime.ts';
import { root as project } from '../../architecture/project.ts';
import { builtCheckout } from '../../cluster/checkout.ts';
import { bareEnvironment } from '../../support/bare-environment.ts';
import { startProcess } from '../../support/process.ts';
import { type Archive, readArchive, unpack } from './oci.ts';
import { sumsOf } from './sums-of.ts';

const run = promisify(execFile);

let folder: string;
let dist: string;
let packed: PackedImage;
let archive: Archive;
let root: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'penstock-image-'));
  dist = await builtCheckout();
  packed = await packImage({ dist, node: process.execPath, folder: join(folder, 'images') });
  archive = await readArchive(packed.archive);
  root = join(folder, 'root');
  await unpack(archive, root);
}, 300_000);

afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

describe('a build', () => {
  test('gives a bundle for each process', async () => {
    const names = Object.keys(await sumsOf(dist));
    expect(names).toEqual(expect.arrayContaining(processes.map((name) => `${name}.js`)));
  });

  test('names no folder of the machine that made it', async () => {
    for (const file of Object.keys(await sumsOf(dist))) {
      const text = await readFile(join(dist, file), 'utf8');
      // Where builds are kept: a build is put there under another name.
      expect({ file, isNamed: text.includes(dirname(dirname(dist))) || text.includes(project) }).toEqual({
        file,
        isNamed: false,
      });
    }
  });

  test('names the licence of every bundled package, with its text if the package has one', async () => {
    const notices = await readFile(join(dist, 'THIRD-PARTY-NOTICES'), 'utf8');
    const bundles = await Promise.all(processes.map((name) => readFile(join(dist, `${name}.js`), 'utf8')));
    // The bundler heads each module with its path.
    const inside = bundles.flatMap((text) =>
      [...text.matchAll(/^ *\/\/ (?:.*\/)?node_modules\/((?:@[\w.-]+\/)?[\w.-]+)\//gm)].map(
        ([, name]) => name,
      ),
    );
    expect(new Set(inside).size).toBeGreaterThan(50);
    for (const name of new Set(inside)) expect(notices).toContain(`\n${name} `);
    // In what browsers are given.
    expect(notices).toContain(`\npreact ${packageJson.dependencies.preact} (MIT)\n`);
    expect(notices).toContain(`fastify ${packageJson.dependencies.fastify} (MIT)\n\nMIT License`);
    expect(notices).not.toMatch(/^(esbuild|vitest) /m);
  });

  test('lists what the product needs and marks what the bundles hold, without time or chance', async () => {
    const text = await readFile(join(dist, 'sbom.cdx.json'), 'utf8');
    const bill: unknown = JSON.parse(text);
    expect(bill).toMatchObject({
      bomFormat: 'CycloneDX',
      metadata: { component: { name: 'penstock', version: packageJson.version } },
      components: expect.arrayContaining([
        expect.objectContaining({ 'bom-ref': `zod@${packageJson.dependencies.zod}`, scope: 'required' }),
        expect.objectContaining({
          name: '@fastify/ajv-compiler',
          purl: expect.stringMatching(/^pkg:npm\/%40fastify\/ajv-compiler@\d/),
          hashes: [{ alg: 'SHA-512', content: expect.stringMatching(/^[0-9a-f]{128}$/) }],
          licenses: [{ license: { id: 'MIT' } }],
        }),
      ]),
      dependencies: expect.arrayContaining([
        {
          ref: `fastify@${packageJson.dependencies.fastify}`,
          dependsOn: expect.arrayContaining([expect.stringMatching(/^@fastify\/ajv-compiler@\d/)]),
        },
      ]),
    });
    expect(text).not.toMatch(/serialNumber|timestamp|"vitest/);
  });
});

describe('an archive', () => {
  test('has the digest that the packer gave', () => {
    expect(archive.manifestDigest).toBe(packed.digest);
  });

  test('is imported by containerd under the name that the chart uses, and can be loaded by Docker', () => {
    const reference = `docker.io/library/penstock:${packageJson.version}`;
    expect(archive.annotations['io.containerd.image.name']).toBe(reference);
    expect(archive.names).toEqual(expect.arrayContaining(['/oci-layout', '/index.json', '/manifest.json']));
  });

  test('holds Node and its libraries, our files, and what V8 compiled of them, and no more of ours', async () => {
    const [runtime = [], ours = [], compiled = []] = archive.layers.map((files) =>
      files.filter(({ type }) => type === 'file').map(({ path }) => path),
    );
    expect(runtime).toEqual(
      expect.arrayContaining([
        '/etc/group',
        '/etc/passwd',
        '/usr/local/bin/node',
        expect.stringMatching(/\/libc\.so/),
      ]),
    );
    const inFolder = (path: string) =>
      image.folders.some((name) => path.startsWith(`${image.folder}/${name}/`));
    expect(ours.filter((path) => !inFolder(path)).sort()).toEqual(
      image.files.map((path) => `${image.folder}/${path}`).sort(),
    );
    // All that was built for browsers, and nothing else that lies there.
    const built = Object.keys(await sumsOf(dist)).map((name) => `${image.folder}/dist/${name}`);
    expect(ours.filter(inFolder).sort()).toEqual(built.filter(inFolder).sort());
    expect(compiled).toHaveLength(compiledAhead.length);
    expect(archive.layers).toHaveLength(3);
  });

  test('belongs to root, has no timestamps, and only root can write to it, except to /tmp', () => {
    const files = archive.layers.flat();
    expect(new Set(files.map(({ owner, mtimeMs }) => `${owner} ${mtimeMs}`))).toEqual(new Set(['0:0 0']));
    const open = files.filter(({ mode = 0 }) => (mode & 0o022) !== 0).map(({ path }) => path);
    expect(open).toEqual(['/tmp']);
  });

  test('starts the gateway as a user without rights', () => {
    expect(archive.config.config).toMatchObject({
      User: '65532:65532',
      WorkingDir: '/app',
      Entrypoint: ['node'],
      Cmd: ['dist/gateway.js'],
    });
    expect(archive.config.rootfs.diff_ids).toEqual(packed.layers);
  });
});

describe('the unpacked image', () => {
  test('has every library that its Node asks for', async () => {
    const { command, args } = await nodeOf(root);
    const { stdout } = await run(command, [...args.slice(0, -1), '--list', join(root, 'usr/local/bin/node')]);
    const loaded = librariesIn(stdout);
    expect(loaded.length).toBeGreaterThan(5);
    expect(loaded.filter((path) => !path.startsWith(root))).toEqual([]);
  });

  test('runs a gateway that answers', async () => {
    const gateway = await startInRoot('gateway', gatewayEnvironment());
    try {
      const said: unknown = JSON.parse(await gateway.line(/gateway listening/));
      const { metricsUrl } = z.object({ metricsUrl: z.string() }).parse(said);
      await gateway.answering(`${metricsUrl}/healthz`);
    } finally {
      await gateway.stop();
    }
  });

  test('keeps OpenTelemetry apart from the process that may never ask for it', async () => {
    for (const name of processes) {
      const text = await readFile(join(root, image.folder, `dist/${name}.js`), 'utf8');
      // prom-client asks for the names alone.
      const inside = new Set(
        [...text.matchAll(/^\/\/ node_modules\/(@opentelemetry\/[^/]+)/gm)].map(([, it]) => it),
      );
      inside.delete('@opentelemetry/api');
      expect([name, [...inside]]).toEqual([name, []]);
    }
  });

  test.each(Object.keys(onDemand))('has a %s that can be loaded', async (name) => {
    const { command, args } = await nodeOf(root);
    const load = `import('./dist/${name}.js').then((all) => console.log(Object.keys(all).join()))`;
    const { stdout } = await run(command, [...args, '--eval', load], {
      cwd: join(root, image.folder),
      env: { ...bareEnvironment(), NODE_OPTIONS: image.config.Env.NODE_OPTIONS },
    });
    expect(stdout.trim()).toMatch(/^open(Gateway)?Telemetry$/);
  });

  test('runs a gateway that sends its metrics where it is asked to', async () => {
    const asked = Promise.withResolvers<string | undefined>();
    const collector = createServer((request, response) => {
      request.resume().once('end', () => response.end());
      asked.resolve(request.url);
    });
    await new Promise<void>((resolve) => collector.listen(0, '127.0.0.1', resolve));
    const address = collector.address();
    const port = typeof address === 'object' && address ? address.port : 0;
    const gateway = await startInRoot('gateway', {
      ...gatewayEnvironment(),
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
      OTEL_METRIC_EXPORT_INTERVAL: '100',
    });
    try {
      await gateway.line(/gateway listening/);
      expect(await asked.promise).toBe('/v1/metrics');
    } finally {
      await gateway.stop();
      collector.closeAllConnections();
      collector.close();
    }
  });

  test('runs an operator that names its missing settings', async () => {
    const operator = await startInRoot('operator', {});
    await operator.line(/could not start.*PENSTOCK_NAMESPACE: must be the name of a namespace/);
    expect(await operator.exit).toEqual({ code: 1, signal: null });
  });

  test('runs a dashboard that serves its page to everybody, and its data to sessions alone', async () => {
    const dashboard = await startInRoot('dashboard', {
      PENSTOCK_DASHBOARD_HOST: '127.0.0.1',
      PENSTOCK_DASHBOARD_PORT: '0',
      PENSTOCK_DASHBOARD_METRICS_PORT: '0',
      PENSTOCK_DASHBOARD_KUBERNETES_URL: 'https://127.0.0.1:1',
    });
    try {
      const said: unknown = JSON.parse(await dashboard.line(/dashboard started/));
      const { url, metricsUrl } = z.object({ url: z.string(), metricsUrl: z.string() }).parse(said);
      await dashboard.answering(`${metricsUrl}/readyz`);
      const page = await fetch(url);
      expect([page.status, page.headers.get('content-type')]).toEqual([
        200,
        expect.stringContaining('text/html'),
      ]);
      const scripts = [...(await page.text()).matchAll(/src="([^"]+\.js)"/g)].map(([, path]) => path);
      expect(scripts.length).toBeGreaterThan(0);
      for (const path of scripts) expect((await fetch(new URL(`${path}`, url))).status).toBe(200);
      expect((await fetch(`${url}/api/session`)).status).toBe(401);
    } finally {
      await dashboard.stop();
    }
  });

  test('runs a simulator that answers', async () => {
    const simulator = await startInRoot('simulator', { PORT: '0' });
    try {
      const line = await simulator.line(/listening on/);
      await simulator.answering(`${line.split(' ').at(-1)}/v1/models`);
    } finally {
      await simulator.stop();
    }
  });

  test.each(compiledAhead)(
    'has %s compiled for the place that it is started from, in a folder for its user',
    async (name) => {
      // Node looks for a module by its name; the user is part of the folder's.
      const [file] = archive.layers[2]?.filter(({ content }) => content.includes(urlInImage(name))) ?? [];
      expect(file?.path).toMatch(/^\/app\/compile-cache\/v[\d.]+-\w+-\w+-65532\/\w+$/);
      expect(file?.mode).toBe(0o444);
    },
  );
});

/** Node of an unpacked image by its own loader, which is asked to look nowhere else; no rights are needed for that. */
async function nodeOf(folder: string): Promise<{ command: string; args: string[] }> {
  const files = await readdir(folder, { recursive: true, withFileTypes: true });
  const libraries = files.filter((file) => file.isFile() && /\.so\b/.test(file.name));
  const loader = libraries.find(({ name }) => name.startsWith('ld-linux'));
  if (loader === undefined) throw new Error('the image has no loader');
  const places = [...new Set(libraries.map(({ parentPath }) => parentPath))].join(':');
  return {
    command: join(loader.parentPath, loader.name),
    args: ['--inhibit-cache', '--library-path', places, join(folder, 'usr/local/bin/node')],
  };
}

function gatewayEnvironment(): Record<string, string> {
  return {
    PENSTOCK_HOST: '127.0.0.1',
    PENSTOCK_PORT: '0',
    PENSTOCK_METRICS_PORT: '0',
    PENSTOCK_TABLE_FILE: join(folder, 'no-table-yet.json'),
    PENSTOCK_JOURNAL_DIR: join(folder, 'journal'),
    PENSTOCK_DRAIN_ACCEPT_MS: '0',
  };
}

async function startInRoot(name: (typeof processes)[number], env: Record<string, string>) {
  const { command, args } = await nodeOf(root);
  const [first = '', ...others] = args;
  return startProcess(first, {
    command,
    args: [...others, `dist/${name}.js`],
    cwd: join(root, image.folder),
    env: { ...bareEnvironment(), NODE_OPTIONS: image.config.Env.NODE_OPTIONS, ...env },
  });
}
