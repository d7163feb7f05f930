// What is the product made of? The bill of materials that npm writes from the lockfile (CycloneDX), without parts that differ from one run to
// the next, and with a note on the real content of the bundles.

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { z } from 'zod';
import packageJson from '../../package.json' with { type: 'json' };

const run = promisify(execFile);

const billSchema = z.looseObject({
  serialNumber: z.string().optional(),
  metadata: z.looseObject({ component: z.looseObject({ 'bom-ref': z.string(), name: z.string() }) }),
  components: z.array(
    z.looseObject({
      'bom-ref': z.string(),
      name: z.string(),
      scope: z.string().optional(),
      properties: z.array(z.object({ name: z.string(), value: z.string() })).default([]),
    }),
  ),
  dependencies: z.array(z.looseObject({ ref: z.string(), dependsOn: z.array(z.string()).default([]) })),
});

type Bill = z.infer<typeof billSchema>;

/** Reads what npm says now. @returns the text, given the folders of the packages that are in the bundles. */
export async function billOfMaterials(project: string): Promise<(bundled: readonly string[]) => string> {
  // Not with --omit=dev: npm 11 then leaves out what the product and a tool both use, zod and undici among them.
  const args = ['sbom', '--package-lock-only', '--sbom-format=cyclonedx'];
  const { stdout } = await run('npm', args, { cwd: project, maxBuffer: 64 * 1024 * 1024 });
  const bill: unknown = JSON.parse(stdout);
  return (bundled) => `${JSON.stringify(settleBill(bill, bundled), undefined, 2)}\n`;
}

/** @throws {Error} when a bundled package is not in the bill. */
function settleBill(npmsBill: unknown, bundled: readonly string[]): Bill {
  const { serialNumber: _random, ...bill } = billSchema.parse(npmsBill);
  const { timestamp: _now, tools: _npm, ...metadata } = bill.metadata;
  const product = bill.components.filter(
    ({ properties }) => !properties.some(({ name }) => name === 'cdx:npm:package:development'),
  );
  const names = new Set(bundled.map(packageName));
  const unlisted = [...names].filter((name) => !product.some((component) => component.name === name));
  if (unlisted.length > 0)
    throw new Error(`bundled, and not in the bill of materials: ${unlisted.join(', ')}`);
  const listed = new Set([metadata.component, ...product].map((component) => component['bom-ref']));
  return {
    ...bill,
    // npm names the whole after its folder.
    metadata: { ...metadata, component: { ...metadata.component, name: packageJson.name } },
    // `excluded` is CycloneDX for what is needed on the way and not delivered.
    components: product
      .map((component) => ({ ...component, scope: names.has(component.name) ? 'required' : 'excluded' }))
      .sort(by((component) => component['bom-ref'])),
    dependencies: bill.dependencies
      .filter(({ ref }) => listed.has(ref))
      .map((one) => ({ ...one, dependsOn: one.dependsOn.filter((ref) => listed.has(ref)).sort() }))
      .sort(by(({ ref }) => ref)),
  };
}

function packageName(folder: string): string {
  return folder.slice(folder.lastIndexOf('node_modules/') + 'node_modules/'.length);
}

function by<T>(key: (value: T) => string): (a: T, b: T) => number {
  return (a, b) => (key(a) < key(b) ? -1 : 1);
}
