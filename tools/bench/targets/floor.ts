// The floor: whatever a gateway on Node does, it cannot cost less than this.

import { createRequire } from 'node:module';
import { join } from 'node:path';
import { z } from 'zod';
import { freePort } from './ports.ts';
import { pinned, runningTarget, type Target } from './target.ts';

export const floor: Target = {
  name: 'floor',
  describe: async () => `node:http and undici ${undiciVersion()} dispatch on Node ${process.version}`,
  async start(context) {
    const port = await freePort();
    const launched = await context.launcher.start({
      name: 'floor',
      command: process.execPath,
      args: [
        ...(context.nodeArgs ?? []),
        join(import.meta.dirname, 'floor-server.ts'),
        ...[String(port), String(context.upstream.port)],
      ],
      env: { NODE_ENV: 'production' },
      ...pinned(context),
    });
    return runningTarget('floor', port, launched);
  },
};

function undiciVersion(): string {
  const manifest: unknown = createRequire(import.meta.url)('undici/package.json');
  return z.object({ version: z.string() }).parse(manifest).version;
}
