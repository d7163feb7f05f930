// From where do the programs of the test cluster come, in which order, and what is refused?

import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { findPrograms } from './binaries.ts';
import { makeNeedsCluster } from './needs-cluster.ts';
import {
  helmVersion,
  hostPlatform,
  kubernetesVersion,
  type ProgramName,
  programCacheFolder,
  programNames,
} from './programs.ts';
import { run } from './run.ts';
import { makeDownloadSource } from './sources/download.ts';
import { goSource } from './sources/go.ts';
import type { Source } from './sources/source.ts';

let home: string;
let cacheFolder: string;

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'penstock-binaries-'));
  cacheFolder = join(home, 'cache');
});
afterEach(() => rm(home, { recursive: true, force: true }));

const script = (text: string) => `#!/bin/sh\necho "${text}"\n`;

/** A program that can be run and says from where it came. */
async function place(folder: string, name: string, text: string): Promise<string> {
  await mkdir(folder, { recursive: true });
  const file = join(folder, name);
  await writeFile(file, text);
  await chmod(file, 0o755);
  return file;
}

/** A source of small programs; of all, or of those named. */
function source(
  name: string,
  given: readonly ProgramName[] = programNames,
): Source & { asked: ProgramName[][] } {
  const asked: ProgramName[][] = [];
  return {
    name,
    asked,
    async bring(missing, { scratch, keep }) {
      asked.push([...missing]);
      for (const program of missing.filter((each) => given.includes(each)))
        await keep(program, await place(scratch, program, script(`${program} of ${name}`)));
      if (!missing.every((each) => given.includes(each))) throw new Error(`${name} has no more`);
    },
  };
}

const env = {};
const said = async (program: string) => (await run(program, ['--version'])).stdout.trim();

describe('the order', () => {
  test('programs come from KUBEBUILDER_ASSETS, then from the cache, then from the sources', async () => {
    const assets = join(home, 'assets');
    for (const name of ['etcd', 'kube-apiserver', 'kubectl'])
      await place(assets, name, script(`${name} of assets`));
    await place(cacheFolder, 'kubectl', script('kubectl of cache'));
    await place(cacheFolder, 'helm', script('helm of cache'));
    const building = source('building');
    const programs = await findPrograms({
      env: { KUBEBUILDER_ASSETS: assets },
      cacheFolder,
      sources: [building],
    });
    expect(building.asked).toEqual([['kube-controller-manager']]);
    expect(await Promise.all(programNames.map((name) => said(programs[name])))).toEqual([
      'etcd of assets',
      'kube-apiserver of assets',
      'kubectl of assets',
      'kube-controller-manager of building',
      'helm of cache',
    ]);
  });

  test('a source is asked only for programs that earlier sources lack', async () => {
    const sources = [source('first', ['etcd']), source('second', ['kubectl', 'helm']), source('third')];
    const programs = await findPrograms({ env, cacheFolder, sources });
    expect(sources.map(({ asked }) => asked.map((names) => names.length))).toEqual([[5], [4], [2]]);
    expect(await said(programs.etcd)).toBe('etcd of first');
    expect(await said(programs.helm)).toBe('helm of second');
    expect(await said(programs['kube-apiserver'])).toBe('kube-apiserver of third');
  });

  test('a cached program is not asked for again', async () => {
    await findPrograms({ env, cacheFolder, sources: [source('once')] });
    const again = source('again');
    await findPrograms({ env, cacheFolder, sources: [again] });
    expect(again.asked).toEqual([]);
  });

  test('a KUBEBUILDER_ASSETS that lacks a program is an error, not a reason to build', async () => {
    const assets = join(home, 'assets');
    await place(assets, 'etcd', script('etcd'));
    const building = source('building');
    await expect(
      findPrograms({ env: { KUBEBUILDER_ASSETS: assets }, cacheFolder, sources: [building] }),
    ).rejects.toThrow(
      /KUBEBUILDER_ASSETS is .*assets.* no program kube-apiserver in it: put .*, or unset it$/,
    );
    expect(building.asked).toEqual([]);
  });

  test('the cache is outside of the checkout, by version, platform and sources', () => {
    const { os, arch } = hostPlatform();
    const below = (root: string) =>
      new RegExp(`^${root}/penstock/cluster/1\\.36\\.3-${os}-${arch}-[0-9a-f]{16}$`);
    expect(programCacheFolder({ XDG_CACHE_HOME: '/x' })).toMatch(below('/x'));
    expect(programCacheFolder({})).toMatch(/\/\.cache\/penstock\/cluster\//);
  });
});

describe('when it does not work', () => {
  test('one sentence names every try, and the remedy', async () => {
    const sources = [source('building with Go', ['etcd']), source('downloading', [])];
    const failure = await findPrograms({ env, cacheFolder, sources }).catch((error: Error) => error.message);
    expect(failure).toMatch(
      /no way to get kube-apiserver, kubectl, kube-controller-manager, helm \(KUBEBUILDER_ASSETS is not set; building with Go: building with Go has no more; downloading: downloading has no more\): install Go 1\.26 or newer, or /,
    );
    expect(failure).not.toMatch(/\n/);
  });

  test('a program that does not run is not kept, and the next source is asked', async () => {
    const half: Source = {
      name: 'half',
      async bring(_missing, { scratch, keep }) {
        // The first bytes of a program, and then nothing.
        await keep('etcd', await place(scratch, 'etcd', '\x7fELF\x02\x01\x01'));
      },
    };
    const lines: string[] = [];
    const say = (line: string) => lines.push(line);
    const programs = await findPrograms({ env, cacheFolder, sources: [half, source('whole')], say });
    expect(await said(programs.etcd)).toBe('etcd of whole');
    expect(lines).toEqual([expect.stringMatching(/^half did not work: the etcd it gave does not run here/)]);
  });

  test('nothing unfinished is left, not even by a run that was killed', async () => {
    await mkdir(`${cacheFolder}.unfinished-before`);
    await findPrograms({ env, cacheFolder, sources: [source('none', [])] }).catch(() => {});
    expect((await readdir(home)).filter((name) => name !== 'cache')).toEqual([]);
  });

  test('without a command "go" building says so', async () => {
    const failure = await findPrograms({ env: { PATH: home }, cacheFolder, sources: [goSource] }).catch(
      String,
    );
    expect(failure).toMatch(/building with Go: there is no command "go"/);
  });

  test('the end of the run ends it', async () => {
    const ending = new AbortController();
    const slow: Source = {
      name: 'slow',
      async bring(_missing, { signal }) {
        const sleeping = run('sleep', ['600'], { signal });
        ending.abort(new Error('the test run has ended'));
        await sleeping;
      },
    };
    const looking = findPrograms({
      env,
      cacheFolder,
      sources: [slow, source('next')],
      signal: ending.signal,
    });
    await expect(looking).rejects.toThrow('the test run has ended');
    expect(existsSync(join(cacheFolder, 'etcd'))).toBe(false);
  });
});

test('a process that waits for another says so, and ends with its run', async () => {
  await writeFile(`${cacheFolder}.lock`, String(process.pid));
  const ending = new AbortController();
  const lines: string[] = [];
  const say = (line: string) => {
    lines.push(line);
    ending.abort(new Error('the test run has ended'));
  };
  await expect(findPrograms({ env, cacheFolder, sources: [], say, signal: ending.signal })).rejects.toThrow(
    'the test run has ended',
  );
  expect(lines).toEqual(['another process is preparing the programs; waiting for it']);
});

test('a lock whose holder has ended is free', async () => {
  const holder = await run('sh', ['-c', 'echo $$']);
  await writeFile(`${cacheFolder}.lock`, holder.stdout.trim());
  const programs = await findPrograms({ env, cacheFolder, sources: [source('after')] });
  expect(await said(programs.etcd)).toBe('etcd of after');
});

test('several that ask at once have them prepared once', async () => {
  const sources = ['a', 'b', 'c'].map((name) => source(name));
  const found = await Promise.all(sources.map((each) => findPrograms({ env, cacheFolder, sources: [each] })));
  expect(sources.flatMap(({ asked }) => asked)).toHaveLength(1);
  expect(new Set(found.map((programs) => programs.helm)).size).toBe(1);
});

describe('building with Go', () => {
  // A stand-in for the command, which takes minutes: it writes down how it was called.
  const fakeGo = (build: string) => `#!/bin/sh
if [ "$1" = version ]; then echo go version go1.26.0; exit 0; fi
while [ "$1" != -o ]; do shift; done
mkdir -p "$GOCACHE"
echo "$CGO_ENABLED $3" >>"${'$'}{0%/*}/calls"
${build}
`;
  const withGo = async (build: string) => {
    await place(join(home, 'bin'), 'go', fakeGo(build));
    return { PATH: `${join(home, 'bin')}:${process.env.PATH}` };
  };

  test('builds each program of the module, tells how far it is, and keeps no build cache', async () => {
    const lines: string[] = [];
    await findPrograms({
      env: await withGo('printf \'#!/bin/sh\\necho built\\n\' >"$2"'),
      cacheFolder,
      sources: [goSource],
      say: (line) => lines.push(line),
    });
    expect((await readFile(join(home, 'bin', 'calls'), 'utf8')).trim().split('\n')).toEqual([
      '0 go.etcd.io/etcd/server/v3',
      '0 k8s.io/kubernetes/cmd/kube-apiserver',
      '0 k8s.io/kubernetes/cmd/kubectl',
      '0 k8s.io/kubernetes/cmd/kube-controller-manager',
      '0 helm.sh/helm/v3/cmd/helm',
    ]);
    expect(lines.slice(0, 3)).toEqual([
      'building etcd (1 of 5, usually about 1 minute)',
      expect.stringMatching(/^built etcd in \d+ s$/),
      'building kube-apiserver (2 of 5, usually about 3 minutes)',
    ]);
    expect((await readdir(home)).sort()).toEqual(['bin', 'cache']);
  });

  test('a build that fails says why', async () => {
    const goEnv = await withGo('echo "go: k8s.io/kubernetes: no such host" >&2; exit 1');
    await expect(findPrograms({ env: goEnv, cacheFolder, sources: [goSource] })).rejects.toThrow(
      /building with Go: etcd could not be built \(go: k8s\.io\/kubernetes: no such host\)/,
    );
  });
});

describe('downloading', () => {
  let server: Server;
  let url: string;
  let files: Map<string, Buffer | string>;

  beforeEach(async () => {
    files = new Map();
    server = createServer((request, response) => {
      const file = files.get(request.url ?? '');
      response.writeHead(file === undefined ? 404 : 200).end(file);
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    await publish();
  });
  afterEach(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });

  const { os, arch } = hostPlatform();
  const sum = (algorithm: string, content: string | Buffer) =>
    createHash(algorithm).update(content).digest('hex');
  const helmFile = `/helm-v${helmVersion}-${os}-${arch}.tar.gz`;

  /** What the makers publish, with small programs in it. */
  async function publish(): Promise<void> {
    const made = join(home, 'made');
    for (const name of ['etcd', 'kube-apiserver', 'kubectl'])
      await place(join(made, 'controller-tools', 'envtest'), name, script(`${name} of envtest`));
    await place(join(made, `${os}-${arch}`), 'helm', script('helm of its makers'));
    const pack = async (content: string) => {
      await run('tar', ['-czf', `${made}.tgz`, '-C', made, content]);
      return readFile(`${made}.tgz`);
    };
    const envtest = await pack('controller-tools');
    const helm = await pack(`${os}-${arch}`);
    const release = (version: string) => ({
      [`envtest-${version}-${os}-${arch}.tar.gz`]: {
        hash: sum('sha512', envtest),
        selfLink: `${url}/${version}.tar.gz`,
      },
    });
    const releases = Object.fromEntries(
      ['v1.35.9', 'v1.36.2', 'v1.36.10', 'v1.36.11-rc.0'].map((version) => [version, release(version)]),
    );
    const manager = script('kube-controller-manager of its makers');
    const managerFile = `/v${kubernetesVersion}/bin/${os}/${arch}/kube-controller-manager`;
    files.set('/index.yaml', JSON.stringify({ releases }));
    files.set('/v1.36.10.tar.gz', envtest);
    files.set(managerFile, manager).set(`${managerFile}.sha256`, sum('sha256', manager));
    files.set(helmFile, helm).set(`${helmFile}.sha256sum`, `${sum('sha256', helm)}  ${helmFile.slice(1)}\n`);
  }

  const download = () =>
    findPrograms({
      env,
      cacheFolder,
      sources: [makeDownloadSource({ envtestIndex: `${url}/index.yaml`, kubernetes: url, helm: url })],
    });

  test('takes the newest envtest archive of the minor version, and the rest from its makers', async () => {
    const programs = await download();
    expect(await Promise.all(programNames.map((name) => said(programs[name])))).toEqual([
      'etcd of envtest',
      'kube-apiserver of envtest',
      'kubectl of envtest',
      'kube-controller-manager of its makers',
      'helm of its makers',
    ]);
  });

  test('refuses an archive that is not the published one', async () => {
    files.set('/v1.36.10.tar.gz', (files.get('/v1.36.10.tar.gz') as Buffer).subarray(0, 200));
    await expect(download()).rejects.toThrow(
      /v1\.36\.10\.tar\.gz has the sha512 [0-9a-f]+, published is [0-9a-f]+/,
    );
    expect(await readdir(cacheFolder)).toEqual([]);
  });

  test('refuses a Helm that is not the published one', async () => {
    files.set(`${helmFile}.sha256sum`, `${'0'.repeat(64)}  helm\n`);
    await expect(download()).rejects.toThrow(/no way to get helm \(.*has the sha256/);
  });

  test('names the address that cannot be reached', async () => {
    files.delete('/index.yaml');
    await expect(download()).rejects.toThrow(/downloading: http:.*\/index\.yaml answered 404/);
  });
});

test('the run knows which files need the cluster, by what they import', async () => {
  const needsCluster = makeNeedsCluster();
  const file = (name: string) => join(import.meta.dirname, name);
  expect(needsCluster(file('control-plane.test.ts'))).toBe(true);
  expect(needsCluster(file('control-plane.ts'))).toBe(true);
  expect(needsCluster(file('binaries.test.ts'))).toBe(false);
  expect(needsCluster(join(import.meta.dirname, '..', 'setup.ts'))).toBe(false);
});
