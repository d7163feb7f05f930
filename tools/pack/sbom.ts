// What is the product made of? A bill of materials out of the lockfile (CycloneDX 1.5, https://cyclonedx.org/docs/1.5/json), the same
// for the same lockfile. Not `npm sbom`: the npm of Debian 13 does not have that command.

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';

const named = z.record(z.string(), z.string()).default({});

/** Of npm's lockfile, version 3: https://docs.npmjs.com/cli/configuring-npm/package-lock-json */
const lockSchema = z.object({
  lockfileVersion: z.literal(3),
  packages: z.record(
    z.string(),
    z.object({
      name: z.string().optional(),
      version: z.string(),
      integrity: z.string().optional(),
      license: z.string().optional(),
      dev: z.boolean().default(false),
      dependencies: named,
      optionalDependencies: named,
      peerDependencies: named,
    }),
  ),
});

type Locked = z.infer<typeof lockSchema>['packages'][string];

/** Reads the lockfile now. @returns the text, given the folders of the packages that are in the bundles. */
export async function billOfMaterials(project: string): Promise<(bundled: readonly string[]) => string> {
  const text = await readFile(join(project, 'package-lock.json'), 'utf8');
  const { packages } = lockSchema.parse(JSON.parse(text));
  return (bundled) => `${JSON.stringify(makeBill(packages, bundled), undefined, 2)}\n`;
}

/** @throws {Error} when a bundled package is not in the bill. */
function makeBill(packages: Readonly<Record<string, Locked>>, bundled: readonly string[]): object {
  const product = Object.entries(packages).filter(([path, { dev }]) => path !== '' && !dev);
  const names = new Set(bundled.map(nameOf));
  const listed = new Set(product.map(([path]) => nameOf(path)));
  const unlisted = [...names].filter((name) => !listed.has(name));
  if (unlisted.length > 0)
    throw new Error(`bundled, and not in the bill of materials: ${unlisted.join(', ')}`);
  const whole = packages[''];
  if (whole === undefined) throw new Error('package-lock.json has no entry for the project itself');
  const dependencies = [['', whole] as const, ...product].map(([path, one]) => ({
    ref: refOf(path, one),
    dependsOn: unique(dependenciesOf(packages, path, one)).sort(),
  }));
  return {
    $schema: 'http://cyclonedx.org/schema/bom-1.5.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.5',
    version: 1,
    metadata: { lifecycles: [{ phase: 'pre-build' }], component: componentOf('', whole, 'required') },
    // `excluded` is CycloneDX for what is needed on the way and not delivered.
    components: byRef(
      product.map(([path, one]) => componentOf(path, one, names.has(nameOf(path)) ? 'required' : 'excluded')),
      (one) => one['bom-ref'],
    ),
    dependencies: byRef(dependencies, ({ ref }) => ref),
  };
}

function componentOf(path: string, one: Locked, scope: 'required' | 'excluded') {
  const { version, integrity, license } = one;
  const name = one.name ?? nameOf(path);
  return {
    'bom-ref': refOf(path, one),
    type: path === '' ? 'application' : 'library',
    name,
    version,
    scope,
    purl: `pkg:npm/${name.replace('@', '%40')}@${version}`,
    ...(integrity !== undefined && { hashes: [hashOf(integrity)] }),
    ...(license !== undefined && {
      licenses: [/\s/.test(license) ? { expression: license } : { license: { id: license } }],
    }),
  };
}

/** @param integrity such as `sha512-…`, in base64: https://www.w3.org/TR/SRI */
function hashOf(integrity: string) {
  const [algorithm = '', digest = ''] = integrity.split(/-(.*)/s);
  return {
    alg: algorithm.toUpperCase().replace('SHA', 'SHA-'),
    content: Buffer.from(digest, 'base64').toString('hex'),
  };
}

/** As Node finds them: in the package's own folder, or in one above. A peer or an option that is not installed is none. */
function dependenciesOf(packages: Readonly<Record<string, Locked>>, path: string, one: Locked): string[] {
  const wanted = Object.keys({ ...one.dependencies, ...one.optionalDependencies, ...one.peerDependencies });
  return wanted.flatMap((name) => {
    for (let folder = path; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf('/node_modules/')))) {
      const found = folder === '' ? `node_modules/${name}` : `${folder}/node_modules/${name}`;
      const dependency = packages[found];
      if (dependency !== undefined) return dependency.dev ? [] : [refOf(found, dependency)];
      if (folder === '') return [];
    }
  });
}

function refOf(path: string, one: Locked): string {
  return `${one.name ?? nameOf(path)}@${one.version}`;
}

function nameOf(folder: string): string {
  return folder.slice(folder.lastIndexOf('node_modules/') + 'node_modules/'.length);
}

const unique = (refs: readonly string[]): string[] => [...new Set(refs)];

/** Sorted, each once: a package can be installed in several folders. */
function byRef<T>(all: readonly T[], ref: (value: T) => string): readonly T[] {
  const each = new Map(all.map((one) => [ref(one), one]));
  return [...each.values()].toSorted((a, b) => (ref(a) < ref(b) ? -1 : 1));
}
