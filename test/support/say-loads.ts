// Is OpenTelemetry loaded? A process reports it itself, whichever module loads it.

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

/** Gives `NODE_OPTIONS` of a bundle that prints `loads` and a name for each part that holds OpenTelemetry, and each package of it. */
export async function sayLoads(folder: string): Promise<string> {
  const hook = join(folder, 'say-loads.mjs');
  await writeFile(
    hook,
    `import { registerHooks } from 'node:module';
registerHooks({ resolve(name, context, next) {
  if (/^\\.\\/\\w+-telemetry\\.js$/.test(name) || name.startsWith('@opentelemetry/')) process.stdout.write('loads ' + name + '\\n');
  return next(name, context);
} });\n`,
  );
  return `--import=${pathToFileURL(hook).href}`;
}
