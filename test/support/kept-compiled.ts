// How does a test file that was compiled in an earlier run stay compiled? Vitest loads each under an address with the time in it, and
// Node keeps what it compiled by address. Loaded once by each worker, behind the hooks of Vitest.

import { registerHooks } from 'node:module';

/** By file, in this worker: while watching, a file is loaded again after each change. */
const loads = new Map<string, number>();

registerHooks({
  resolve(specifier, context, nextResolve) {
    const resolved = nextResolve(specifier, context);
    if (!specifier.includes('vitest=')) return resolved;
    const url = resolved.url.replace(/(?<=\?vitest=)\d{13}$/, '');
    const load = (loads.get(url) ?? 0) + 1;
    loads.set(url, load);
    // As many digits as before: Vitest removes them from stack traces.
    return url === resolved.url ? resolved : { ...resolved, url: `${url}${String(load).padStart(13, '0')}` };
  },
});
