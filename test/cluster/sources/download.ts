// Can they be downloaded? The envtest archive, as setup-envtest takes it, and what is not in it from where its makers publish
// it. Nothing is used whose checksum is not the published one.

import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { parse } from 'yaml';
import { z } from 'zod';
import { envtestNames, helmVersion, hostPlatform, kubernetesVersion, type ProgramName } from '../programs.ts';
import { run } from '../run.ts';
import type { Kit, Source } from './source.ts';

export interface DownloadPlaces {
  /** Names every envtest archive with its SHA-512. */
  readonly envtestIndex: string;
  readonly kubernetes: string;
  readonly helm: string;
}

const publicPlaces: DownloadPlaces = {
  envtestIndex:
    'https://raw.githubusercontent.com/kubernetes-sigs/controller-tools/HEAD/envtest-releases.yaml',
  kubernetes: 'https://dl.k8s.io/release',
  helm: 'https://get.helm.sh',
};

const indexSchema = z.object({
  releases: z.record(z.string(), z.record(z.string(), z.object({ hash: z.string(), selfLink: z.string() }))),
});

export const downloadSource = makeDownloadSource(publicPlaces);

export function makeDownloadSource(places: DownloadPlaces): Source {
  return {
    name: 'downloading',
    async bring(missing, kit) {
      const wantsEnvtest = envtestNames.some((name) => missing.includes(name));
      if (wantsEnvtest) await bringEnvtest(places, missing, kit);
      if (missing.includes('kube-controller-manager'))
        await bringRelease('kube-controller-manager', kubernetesVersion, places.kubernetes, kit);
      if (missing.includes('helm')) await bringHelm(places, kit);
    },
  };
}

async function bringEnvtest(
  places: DownloadPlaces,
  missing: readonly ProgramName[],
  kit: Kit,
): Promise<void> {
  const { os, arch } = hostPlatform();
  const index = indexSchema.parse(parse(await (await get(places.envtestIndex, kit)).text()));
  const version = newestPatch(Object.keys(index.releases));
  const archive = version && index.releases[version]?.[`envtest-${version}-${os}-${arch}.tar.gz`];
  if (!archive)
    throw new Error(`no envtest archive of ${wantedMinor} for ${os}-${arch} in ${places.envtestIndex}`);
  const file = await fetchChecked(archive.selfLink, { sha512: archive.hash }, kit);
  await unpack(file, kit.scratch);
  for (const name of envtestNames)
    if (missing.includes(name)) await kit.keep(name, join(kit.scratch, 'controller-tools', 'envtest', name));
}

/** Programs that Kubernetes publishes one by one, of any release. */
export function makeReleaseSource<Name extends string>(
  version: string,
  place: string = publicPlaces.kubernetes,
): Source<Name> {
  return {
    name: 'downloading',
    async bring(missing, kit) {
      for (const name of missing) await bringRelease(name, version, place, kit);
    },
  };
}

async function bringRelease<Name extends string>(
  name: Name,
  version: string,
  place: string,
  kit: Kit<Name>,
): Promise<void> {
  const { os, arch } = hostPlatform();
  const url = `${place}/v${version}/bin/${os}/${arch}/${name}`;
  const sha256 = await (await get(`${url}.sha256`, kit)).text();
  await kit.keep(name, await fetchChecked(url, { sha256 }, kit));
}

async function bringHelm(places: DownloadPlaces, kit: Kit): Promise<void> {
  const { os, arch } = hostPlatform();
  const url = `${places.helm}/helm-v${helmVersion}-${os}-${arch}.tar.gz`;
  const sha256 = await (await get(`${url}.sha256sum`, kit)).text();
  await unpack(await fetchChecked(url, { sha256 }, kit), kit.scratch);
  await kit.keep('helm', join(kit.scratch, `${os}-${arch}`, 'helm'));
}

const wantedMinor = kubernetesVersion.replace(/\.\d+$/, '');

/** Archives are made for some patch releases only. */
function newestPatch(versions: readonly string[]): string | undefined {
  const patchOf = (version: string) => Number(version.slice(wantedMinor.length + 2));
  return versions
    .filter((version) => version.startsWith(`v${wantedMinor}.`) && Number.isInteger(patchOf(version)))
    .sort((a, b) => patchOf(b) - patchOf(a))[0];
}

async function fetchChecked(
  url: string,
  wanted: { readonly sha256: string } | { readonly sha512: string },
  kit: Pick<Kit, 'say' | 'scratch' | 'signal'>,
): Promise<string> {
  kit.say(`downloading ${url}`);
  const [algorithm = '', line = ''] = Object.entries(wanted)[0] ?? [];
  const file = join(kit.scratch, new URL(url).pathname.split('/').at(-1) || 'download');
  const { body } = await get(url, kit);
  if (body === null) throw new Error(`${url} is empty`);
  const hash = createHash(algorithm);
  await pipeline(
    Readable.fromWeb(body),
    async function* (pieces) {
      for await (const piece of pieces) {
        hash.update(piece);
        yield piece;
      }
    },
    createWriteStream(file),
    { signal: kit.signal },
  );
  // Some publish the bare sum, some `sum  name`.
  const [published] = line.trim().split(/\s+/);
  const actual = hash.digest('hex');
  if (actual !== published)
    throw new Error(`${url} has the ${algorithm} ${actual}, published is ${published}`);
  return file;
}

async function get(url: string, { signal }: Pick<Kit, 'signal'>): Promise<Response> {
  const answer = await fetch(url, {
    signal: AbortSignal.any([signal, AbortSignal.timeout(15 * 60_000)]),
  }).catch((error: unknown) => {
    // The cause says more than "fetch failed".
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    throw new Error(`${url} cannot be reached (${cause instanceof Error ? cause.message : cause})`);
  });
  if (!answer.ok) throw new Error(`${url} answered ${answer.status}`);
  return answer;
}

async function unpack(archive: string, folder: string): Promise<void> {
  const { code, lastLine } = await run('tar', ['-xzf', archive, '-C', folder]);
  if (code !== 0) throw new Error(`${archive} cannot be unpacked (${lastLine})`);
}
