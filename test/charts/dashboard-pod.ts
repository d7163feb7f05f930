// What does the process of the dashboard read in the pod that the chart makes? Its variables, and the files that they name.

import { mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { type PodSettings, readSettings } from '../../dashboard/settings.ts';
import { deploymentOf, type Rendered } from './helm.ts';

export const DASHBOARD = 'penstock-dashboard';
export const CLIENT_SECRET = 'the-word-of-the-client';

/** As such Secrets hold them, by the names under which they are mounted. */
const contents: Readonly<Record<string, string>> = {
  keys: Buffer.alloc(32, 7).toString('base64'),
  'client-secret': CLIENT_SECRET,
};

const volumesSchema = z.array(
  z.looseObject({
    name: z.string(),
    secret: z
      .object({
        items: z.array(z.object({ key: z.string(), path: z.string() })),
        defaultMode: z.literal(0o440),
      })
      .optional(),
  }),
);

/** @param folder where its file system is laid out. @returns also where that begins. */
export async function settingsInPod(
  objects: readonly Rendered[],
  folder: string,
): Promise<{ readonly root: string; readonly settings: PodSettings }> {
  const { environment, template } = deploymentOf(objects, DASHBOARD);
  const root = await mkdtemp(join(folder, 'pod-'));
  for (const { name, secret } of volumesSchema.parse(template.spec.volumes)) {
    for (const { path } of secret?.items ?? []) {
      const file = join(root, 'etc/penstock', name, path);
      await mkdir(dirname(file), { recursive: true });
      await writeFile(file, `${contents[path]}\n`);
    }
  }
  const moved = Object.entries(environment).map(([name, value]) => [
    name,
    value.startsWith('/etc/') ? join(root, value) : value,
  ]);
  return { root, settings: readSettings(Object.fromEntries(moved)) };
}
