// How do layers become an image in one file? An OCI layout in a tar, which containerd and registries read; a manifest.json beside
// it, for `docker load` of any age.

import { writeFile } from 'node:fs/promises';
import { type Blob, blobOf, tarOf } from './layer.ts';
import type { Runtime } from './runtime.ts';

interface ImageParts {
  /** With registry, repository and tag: `docker.io/library/penstock:0.1.0`. */
  readonly reference: string;
  readonly architecture: Runtime['architecture'];
  readonly config: StartConfig;
  /** The lowest first. */
  readonly layers: readonly Blob[];
}

/** How a container of it starts, in the words of the image specification. */
interface StartConfig {
  readonly User?: string;
  readonly WorkingDir?: string;
  readonly Entrypoint: readonly string[];
  readonly Cmd?: readonly string[];
  readonly Env: Readonly<Record<string, string>>;
  readonly Labels?: Readonly<Record<string, string>>;
}

const types = {
  config: 'application/vnd.oci.image.config.v1+json',
  layer: 'application/vnd.oci.image.layer.v1.tar',
  manifest: 'application/vnd.oci.image.manifest.v1+json',
  index: 'application/vnd.oci.image.index.v1+json',
} as const;

/** @returns the digest of the image: that of its manifest. */
export async function writeArchive(
  path: string,
  parts: ImageParts,
): Promise<{ digest: string; bytes: number }> {
  const { reference, layers } = parts;
  const config = blobOf(JSON.stringify(configOf(parts)));
  const manifest = blobOf(
    JSON.stringify({
      schemaVersion: 2,
      mediaType: types.manifest,
      config: descriptor(types.config, config),
      layers: layers.map((layer) => descriptor(types.layer, layer)),
    }),
  );
  const index = {
    schemaVersion: 2,
    mediaType: types.index,
    manifests: [
      {
        ...descriptor(types.manifest, manifest),
        annotations: {
          'io.containerd.image.name': reference,
          'org.opencontainers.image.ref.name': reference.slice(reference.lastIndexOf(':') + 1),
        },
      },
    ],
  };
  const forDocker = [{ Config: blobPath(config), RepoTags: [reference], Layers: layers.map(blobPath) }];
  const json = (name: string, value: unknown) => ({
    path: name,
    mode: 0o644,
    content: JSON.stringify(value),
  });
  const tar = await tarOf([
    json('oci-layout', { imageLayoutVersion: '1.0.0' }),
    json('index.json', index),
    json('manifest.json', forDocker),
    ...[config, manifest, ...layers].map((blob) => ({
      path: blobPath(blob),
      mode: 0o644,
      content: blob.bytes,
    })),
  ]);
  await writeFile(path, tar);
  return { digest: manifest.digest, bytes: tar.byteLength };
}

function configOf({ architecture, config, layers }: ImageParts): object {
  return {
    // A time would make every build another image.
    created: '1970-01-01T00:00:00Z',
    architecture,
    os: 'linux',
    config: { ...config, Env: Object.entries(config.Env).map(([name, value]) => `${name}=${value}`) },
    // Layers are not compressed: what is sent is what is unpacked.
    rootfs: { type: 'layers', diff_ids: layers.map(({ digest }) => digest) },
  };
}

function descriptor(mediaType: string, { bytes, digest }: Blob): object {
  return { mediaType, digest, size: bytes.byteLength };
}

function blobPath({ digest }: Blob): string {
  return `blobs/${digest.replace(':', '/')}`;
}
