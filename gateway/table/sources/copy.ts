// What does a pod serve from when it starts while the API server is away? Its own copy of the last table it
// loaded: the shards as they came, and last, by rename, the manifest that names them.

import { hash } from 'node:crypto';
import { join } from 'node:path';
import { z } from 'zod';
import { type Manifest, SHARD_LETTERS, type ShardRef } from '../../../core/contract/manifest.ts';
import { parseJson } from '../../../core/parse-json.ts';
import { TableLoadError } from '../load-error.ts';
import { parseManifest } from './pointer.ts';
import { type CopyFiles, systemFiles } from './work.ts';

const manifestFile = 'manifest.json';

/** The manifest as text, and what it must be. */
const copySchema = z.object({ manifest: z.string(), sha256: z.string() });

export class TableCopy {
  private readonly folder: string;
  private readonly files: CopyFiles;
  private readonly onFailure: (message: string) => void;
  /** Packed shards that are not in the folder yet. */
  private readonly packed = new Map<string, Buffer>();
  private readonly written = new Set<string>();
  private newest: Manifest | undefined;
  private writing: Promise<void> | undefined;

  /** @param onFailure The copy could not be written; it is tried again with the next table. */
  constructor(folder: string, onFailure: (message: string) => void, files: CopyFiles = systemFiles) {
    this.folder = folder;
    this.files = files;
    this.onFailure = onFailure;
  }

  /** Undefined without a copy. @throws {TableLoadError} if the copy is damaged. */
  async readManifest(): Promise<Manifest | undefined> {
    const bytes = await this.files.readFile(join(this.folder, manifestFile)).catch((error: unknown) => {
      if (isMissing(error)) return undefined;
      throw error;
    });
    if (bytes === undefined) return undefined;
    const parsed = copySchema.safeParse(parseJson(bytes.toString('utf8')));
    if (!parsed.success) throw new TableLoadError('corrupt', 'its manifest is damaged');
    return parseManifest(parsed.data.manifest, parsed.data.sha256);
  }

  async readShard(ref: ShardRef): Promise<Buffer> {
    try {
      return await this.files.readFile(join(this.folder, fileOf(ref)));
    } catch (error) {
      if (!isMissing(error)) throw error;
      throw new TableLoadError('incomplete', `the shard ${ref.name} is not there`);
    }
  }

  /** A shard that may become part of a copy. */
  keep(ref: ShardRef, bytes: Buffer): void {
    this.packed.set(fileOf(ref), bytes);
  }

  /** The table that was loaded from here: nothing of it needs to be written. */
  adopt({ shards }: Manifest): void {
    for (const ref of shards) this.written.add(fileOf(ref));
  }

  /** Begins to write a table that has been loaded whole; of several the newest is written. */
  save(manifest: Manifest): void {
    this.newest = manifest;
    this.writing ??= this.write();
  }

  /** Resolves when nothing is being written. */
  async settled(): Promise<void> {
    await this.writing;
  }

  private async write(): Promise<void> {
    while (this.newest) {
      const manifest = this.newest;
      this.newest = undefined;
      try {
        await this.writeOne(manifest);
      } catch (error) {
        this.onFailure(error instanceof Error ? error.message : String(error));
      }
    }
    this.writing = undefined;
  }

  private async writeOne(manifest: Manifest): Promise<void> {
    await this.files.mkdir(this.folder, { recursive: true, mode: 0o700 });
    const named = new Set([manifestFile, ...manifest.shards.map(fileOf)]);
    for (const name of this.packed.keys()) if (!named.has(name)) this.packed.delete(name);
    for (const ref of manifest.shards) {
      const name = fileOf(ref);
      if (this.written.has(name)) continue;
      const bytes = this.packed.get(name);
      if (!bytes) throw new Error(`the bytes of the shard ${ref.name} are missing`);
      await this.put(name, bytes);
      this.written.add(name);
      this.packed.delete(name);
    }
    const text = JSON.stringify(manifest);
    await this.put(manifestFile, JSON.stringify({ manifest: text, sha256: hash('sha256', text, 'hex') }));
    for (const name of await this.files.readdir(this.folder)) {
      if (named.has(name)) continue;
      await this.files.rm(join(this.folder, name), { recursive: true, force: true });
      this.written.delete(name);
    }
  }

  private async put(name: string, content: string | Buffer): Promise<void> {
    const path = join(this.folder, name);
    await this.files.writeFile(`${path}.next`, content, { mode: 0o600 });
    // A file that was left there by an earlier try keeps its own mode.
    await this.files.chmod(`${path}.next`, 0o600);
    await this.files.rename(`${path}.next`, path);
  }
}

function fileOf({ kind, sha256 }: ShardRef): string {
  return `${SHARD_LETTERS[kind]}-${sha256}.zst`;
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}
