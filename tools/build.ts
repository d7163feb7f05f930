// What is shipped? `dist` gets the processes as single files with their papers, and the pages of the dashboard; with --images,
// dist/images gets archives of the image too, packed without a container engine.
//
//   npm run build
//   npm run build -- --images                       for the Node of this project
//   npm run build -- --images --node <path> …       for another one; may be repeated

import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import packageJson from '../package.json' with { type: 'json' };
import { buildDist } from './pack/bundles.ts';
import { packImage } from './pack/pack.ts';

const { values } = parseArgs({
  options: { images: { type: 'boolean', default: false }, node: { type: 'string', multiple: true } },
});
const project = fileURLToPath(new URL('..', import.meta.url));
const dist = join(project, 'dist');

await buildDist(project, dist);
console.log(`dist: ${packageJson.name} ${packageJson.version}`);

if (values.images) {
  for (const node of values.node ?? [process.execPath]) {
    const { archive, reference, digest, bytes } = await packImage({
      dist,
      node,
      folder: join(dist, 'images'),
    });
    console.log(`${archive}: ${reference} ${digest}, ${Math.round(bytes / 1e6)} MB`);
  }
}
