// The processes as single files, for images: `dist/gateway.js`, `dist/operator.js`, `dist/simulator.js`.

import { rm } from 'node:fs/promises';
import { build } from 'esbuild';

await rm('dist', { recursive: true, force: true });
await build({
  entryPoints: {
    gateway: 'gateway/main.ts',
    operator: 'operator/main.ts',
    simulator: 'simulator/main.ts',
  },
  outdir: 'dist',
  bundle: true,
  platform: 'node',
  format: 'esm',
  target: 'node24',
  sourcemap: true,
  logLevel: 'info',
  // Some dependencies are CommonJS and ask for Node's own modules by `require`.
  banner: {
    js: "import { createRequire } from 'node:module';\nconst require = createRequire(import.meta.url);",
  },
});
