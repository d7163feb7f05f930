// A gateway without requests: the credential of one provider, exchanged over real HTTP, by a clock that the test turns.

import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildTableView } from '../../../../gateway/table/view.ts';
import { Credentials } from '../../../../gateway/upstream/credentials.ts';
import type { IdentityEnvironment } from '../../../../gateway/upstream/identity/environment.ts';
import { UpstreamPools } from '../../../../gateway/upstream/pools.ts';
import { RenewedCredential } from '../../../../gateway/upstream/renewed-credential.ts';
import type { SeatRows } from '../../../../gateway/upstream/seats.ts';
import { makeFakeClock } from '../../../support/fake-clock.ts';
import { type RigTarget, tableOf } from '../../rig.ts';

interface SceneOptions {
  readonly target: RigTarget;
  readonly seats: SeatRows;
  readonly environment?: IdentityEnvironment;
}

export function openScene({ target, seats, environment = {} }: SceneOptions) {
  const clock = makeFakeClock(Date.now());
  const pools = new UpstreamPools();
  const view = buildTableView(tableOf([target]));
  const [provider] = view.providers.values();
  const [endpoint] = provider?.endpoints ?? [];
  if (!provider || !endpoint) throw new Error('the table has a provider');
  pools.adopt(view);
  const credentials = new Credentials({ clock, pools, seats, environment });
  credentials.adopt(view);
  const credential = credentials.of(provider, endpoint);
  if (!(credential instanceof RenewedCredential)) throw new Error('its credential is exchanged');
  return {
    clock,
    credential,
    /** Time passes; an exchange that begins by itself comes to its end. */
    async pass(ms: number): Promise<void> {
      clock.advance(ms);
      while (credential.renewAtMs === Number.POSITIVE_INFINITY) await credential.renew().catch(() => {});
    },
    report: () => credentials.report(),
    /** The exchange that is in progress, or one that begins now; undefined: it failed. */
    exchanged: () => credential.renew().catch(() => undefined),
    async [Symbol.asyncDispose]() {
      credentials.close();
      await pools.close();
    },
  };
}

/** What is sent of a lease, by names in lower case. */
export function headersOf(
  lease: { readonly headers: readonly string[] } | undefined,
): Record<string, string> {
  const headers = lease?.headers ?? [];
  return Object.fromEntries(
    headers.flatMap((name, at) => (at % 2 === 0 ? [[name, headers[at + 1] ?? '']] : [])),
  );
}

export interface MountedFolder extends AsyncDisposable {
  pathOf(name: string): string;
  /** All files at once, as kubelet replaces them: the folder behind a symbolic link is another one from then on. */
  mount(files: Readonly<Record<string, string>>): Promise<void>;
}

export async function mountFolder(): Promise<MountedFolder> {
  const root = await mkdtemp(join(tmpdir(), 'projected-'));
  let version = 0;
  return {
    pathOf: (name) => join(root, '..data', name),
    async mount(files) {
      version += 1;
      const folder = join(root, `..version-${version}`);
      await mkdir(folder);
      for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
      await symlink(folder, join(root, '..next'));
      await rename(join(root, '..next'), join(root, '..data'));
    },
    async [Symbol.asyncDispose]() {
      await rm(root, { recursive: true, force: true });
    },
  };
}
