// Starts a bundle under its name in the image, so that V8's compile cache is found there. Run as a separate process:
// `node --random-seed=1 warm-start.ts <bundle> <name> <folder of the cache>`.

import { readFileSync } from 'node:fs';
import { enableCompileCache, registerHooks } from 'node:module';

const [bundle = '', name = '', directory = ''] = process.argv.slice(2);

// Not by NODE_COMPILE_CACHE: this file would be compiled into it too.
enableCompileCache({ directory });
registerHooks({
  resolve: (specifier, context, next) =>
    specifier === name ? { url: name, format: 'module', shortCircuit: true } : next(specifier, context),
  load: (url, context, next) =>
    url === name
      ? { format: 'module', source: readFileSync(bundle), shortCircuit: true }
      : next(url, context),
});
// It exits at once for lack of settings; its code is compiled by then.
process.on('exit', () => {
  process.exitCode = 0;
});
await import(name);
