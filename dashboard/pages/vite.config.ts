// How are the pages built? Into few files whose names say what is in them, with nothing that a strict content security policy refuses.

import { defineConfig } from 'vite';

export default defineConfig({
  root: import.meta.dirname,
  // Views have different paths, so built files are named from the root of the origin.
  base: '/',
  publicDir: false,
  build: {
    target: 'es2022',
    assetsDir: 'assets',
    // A picture inside a style is a `data:` address, which the policy refuses.
    assetsInlineLimit: 0,
    cssCodeSplit: false,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    sourcemap: false,
  },
  // Without development's JSX, which holds the paths of sources, whatever the environment says.
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact', development: false } },
});
