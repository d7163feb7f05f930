// What does a build leave in `dist`? The processes as single files, the pages of the dashboard, and the papers that go with them. The
// same sources give the same bytes, wherever the checkout and `dist` are.

import { copyFile, mkdir, rm, writeFile } from 'node:fs/promises';
import { basename, join, relative } from 'node:path';
import { build, type Metafile, type Plugin } from 'esbuild';
import { buildPages } from '../../dashboard/build-pages.ts';
import { bundles, onDemand, packagesOfPages } from './contents.ts';
import { packagesIn, thirdPartyNotices } from './notices.ts';
import { billOfMaterials } from './sbom.ts';

/** @param project root of the checkout. @param folder is emptied first. */
export async function buildDist(project: string, folder: string): Promise<void> {
  const [{ outputFiles, metafile }, bill] = await Promise.all([bundle(project), billOfMaterials(project)]);
  const packages = [...packagesIn(metafile), ...packagesOfPages].sort();
  const notices = await thirdPartyNotices(project, packages);
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  await Promise.all([
    ...outputFiles.map(({ path, contents }) => writeFile(join(folder, basename(path)), contents)),
    writeFile(join(folder, 'package.json'), '{ "type": "module" }\n'),
    copyFile(join(project, 'LICENSE'), join(folder, 'LICENSE')),
    writeFile(join(folder, 'THIRD-PARTY-NOTICES'), notices),
    writeFile(join(folder, 'sbom.cdx.json'), bill(packages)),
    buildPages(join(folder, 'dashboard')),
  ]);
}

function bundle(
  project: string,
): Promise<{ outputFiles: { path: string; contents: Uint8Array }[]; metafile: Metafile }> {
  return build({
    entryPoints: { ...bundles },
    // Both decide which paths stand in comments and source maps: those below the project, and no others.
    absWorkingDir: project,
    preserveSymlinks: true,
    // Maps name sources as seen from here, so it is not the folder that they are written to.
    outdir: join(project, 'dist'),
    write: false,
    metafile: true,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node24',
    sourcemap: true,
    logLevel: 'warning',
    // An optional addition to pg that is not installed; pg works without it.
    external: ['pg-native'],
    plugins: [keepApart(project)],
    // Some dependencies are CommonJS and ask for Node's own modules by `require`. The bundler does not know of this name, and would not
    // keep it from one of theirs.
    banner: {
      js: "import { createRequire as requireOfBundle } from 'node:module';\nconst require = requireOfBundle(import.meta.url);",
    },
  });
}

/** An `import()` of what is loaded on demand finds it beside the process, not in it. */
function keepApart(project: string): Plugin {
  const names = new Map<string, string>(Object.entries(onDemand).map(([name, source]) => [source, name]));
  return {
    name: 'keep-apart',
    setup({ onResolve }) {
      onResolve({ filter: /^\./ }, ({ kind, path, resolveDir }) => {
        const name = names.get(relative(project, join(resolveDir, path)));
        return kind === 'dynamic-import' && name ? { path: `./${name}.js`, external: true } : undefined;
      });
    },
  };
}
