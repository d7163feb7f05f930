// Do the folders keep to what may import what? The rules are in architecture/rules.ts; here each is held against the project,
// and each is shown a small project that breaks it, because a rule that cannot fail guards nothing.

import { relative } from 'node:path/posix';
import { describe, expect, test } from 'vitest';
import { buildProject, loadProject } from './architecture/project.ts';
import { type Rule, type RuleName, rules } from './architecture/rules.ts';
import { scanSource } from './architecture/scan-source.ts';

// Source text with a `${` in it, which would otherwise look like a forgotten template.
const dollar = '$';

const namedRules: [RuleName, Rule][] = Object.entries(rules).map(([name, rule]) => [name as RuleName, rule]);

describe('the project', () => {
  const project = loadProject();

  test('is seen: the rules have something to look at', () => {
    expect(project.sources.size).toBeGreaterThan(20);
    expect([...project.sources.keys()]).toContain('core/egress/address-rules.ts');
    expect(project.sources.get('test/architecture.test.ts')?.imports.length).toBeGreaterThan(2);
  });

  for (const { sentence, why, check } of Object.values(rules)) {
    test(sentence, () => {
      expect(check(project), why).toEqual([]);
    });
  }
});

describe('every rule can fail', () => {
  type Files = Record<string, string>;
  interface Case {
    readonly rule: RuleName;
    readonly offender: Files;
    readonly complaint: string;
    /** The nearest thing that is allowed. */
    readonly innocent: Files;
  }

  const kubernetesClient = '@kubernetes/client-node';
  const cases: Case[] = [
    ...(
      [
        ['operator/a.ts', '../gateway/table/view.ts', '../core/contract/routing-table.ts'],
        ['gateway/a.ts', '../operator/resources/provider.ts', './operator/provider.ts'],
        ['ledger/store/a.ts', '../../gateway/meter/price.ts', '../../core/contract/ledger-record.ts'],
        ['ledger/a.ts', '../operator/resources/pricing.ts', './prices/operator/pricing.ts'],
        ['simulator/a.ts', '../gateway/request/errors.ts', '../core/catalog/dialects.ts'],
        ['simulator/a.ts', '../core/contract/routing-table.ts', './dialect.ts'],
        ['dashboard/a.ts', '../core/contract/routing-table.ts', '../core/kube/paths.ts'],
        ['local/a.ts', '../operator/publish/write-table.ts', '../operator/compile/compile.ts'],
        ['core/kube/a.ts', '../../operator/settings.ts', './agent.ts'],
        ['core/egress/a.ts', '../kube/agent.ts', './dial.ts'],
        ['core/telemetry/a.ts', '../kube/log.ts', '../clock.ts'],
        ['core/contract/a.ts', '../clock.ts', '../catalog/b.ts'],
        ['core/catalog/a.ts', '../contract/routing-table.ts', './b.ts'],
        ['core/other/a.ts', './b.ts', undefined],
        ['gateway/b.ts', '../dashboard/server.ts', '../core/egress/dial.ts'],
        ['gateway/b.ts', '../deploy/monitoring/dashboards.ts', './meter/metric-table.ts'],
        ['gateway/b.ts', '../tools/pack/bundles.ts', '../package.json'],
        ['operator/b.ts', '../test/support/make.ts', './make.ts'],
        ['tools/a.ts', '../test/support/make.ts', '../deploy/monitoring/dashboards.ts'],
      ] as const
    ).map(
      ([path, above, below]): Case => ({
        rule: 'floors',
        offender: { [path]: `// one\nimport type { X } from '${above}';` },
        complaint: path === 'core/other/a.ts' ? `${path}:1 is on no floor` : `${path}:2 ${above}`,
        innocent: below === undefined ? {} : { [path]: `import { x } from '${below}';` },
      }),
    ),
    ...importsThatNoFloorHas().map(
      ([from, to]): Case => ({
        rule: 'floors',
        offender: { [`${from}/a.ts`]: `import '${relative(from, `${to}/b.ts`)}';` },
        complaint: `${from}/a.ts:1 ${relative(from, `${to}/b.ts`)}`,
        innocent: { [`${from}/a.ts`]: "import './b.ts';" },
      }),
    ),
    {
      rule: 'openTelemetryOnDemand',
      offender: { 'operator/a.ts': "import { openTelemetry } from '../core/telemetry/open.ts';" },
      complaint: 'operator/a.ts ../core/telemetry/open.ts',
      innocent: {
        'operator/a.ts':
          "import type { Telemetry } from '../core/telemetry/open.ts';\nawait import('../core/telemetry/open.ts');",
        'core/telemetry/open.ts': "import { trace } from '@opentelemetry/api';",
      },
    },
    {
      rule: 'pagesInBrowser',
      offender: { 'dashboard/pages/a.tsx': "// a view\nimport { hash } from 'node:crypto';" },
      complaint: 'dashboard/pages/a.tsx:2 node:crypto',
      innocent: {
        'dashboard/pages/a.tsx': "import { render } from 'preact';",
        'dashboard/pages/vite.config.ts': "import { defineConfig } from 'vite';",
      },
    },
    {
      rule: 'gatewayWithoutKubernetesClient',
      offender: { 'gateway/a.ts': `import type { V1Pod } from '${kubernetesClient}';` },
      complaint: 'gateway/a.ts:1',
      innocent: { 'gateway/a.ts': `const name = '${kubernetesClient}';` },
    },
    {
      rule: 'gatewayWithoutKubernetesClient',
      offender: {
        'gateway/a.ts': "import { watch } from '../core/kube/watch.ts';",
        'core/kube/watch.ts': "import { agent } from './agent.ts';",
        'core/kube/agent.ts': `import { KubeConfig } from '${kubernetesClient}/dist/config.js';`,
      },
      complaint: 'gateway/a.ts:1 ../core/kube/watch.ts, through core/kube/agent.ts',
      innocent: {
        'gateway/a.ts': "import { watch } from '../core/kube/watch.ts';",
        'core/kube/watch.ts': "import { get } from 'node:https';",
        'core/kube/agent.ts': `import { KubeConfig } from '${kubernetesClient}';`,
      },
    },
    {
      rule: 'contractUsesSchemasOnly',
      offender: { 'core/contract/a.ts': "import { hash } from 'node:crypto';" },
      complaint: 'core/contract/a.ts:1 node:crypto',
      innocent: { 'core/contract/a.ts': "import { z } from 'zod';\nimport './b.ts';" },
    },
    {
      rule: 'contractUsesSchemasOnly',
      offender: { 'core/catalog/a.ts': "import { z } from 'zod';" },
      complaint: 'core/catalog/a.ts:1 zod',
      innocent: { 'core/catalog/a.ts': "import './b.ts';" },
    },
    {
      rule: 'compileUsesValuesOnly',
      offender: { 'operator/compile/a.ts': "import { s } from '../watch/secrets.ts';" },
      complaint: 'operator/compile/a.ts:1',
      innocent: {
        'operator/compile/checks/a.ts': "import { s } from '../../resources/provider.ts';",
        'operator/compile/a.ts': "import type { Snapshot } from '../watch/snapshot.ts';",
      },
    },
    {
      rule: 'compileUsesValuesOnly',
      offender: { 'operator/watch/snapshot.ts': "import { s } from './secrets.ts';" },
      complaint: 'operator/watch/snapshot.ts:1',
      innocent: { 'operator/watch/secrets.ts': "import type { Snapshot } from './snapshot.ts';" },
    },
    {
      rule: 'compileUsesValuesOnly',
      offender: { 'operator/compile/a.ts': "import { c } from '../../core/egress/connect.ts';" },
      complaint: 'operator/compile/a.ts:1',
      innocent: { 'operator/compile/a.ts': "import { c } from '../../core/egress/address-rules.ts';" },
    },
    ...[
      "import { readFileSync } from 'node:fs';",
      "import { BlockList } from 'node:net';",
      "import { lookup } from 'node:dns/promises';",
      'export const at = Date.now();',
      'export const at = new Date();',
      'export const at = new Date;',
      'export const at = globalThis.Date.now();',
      'export const id = Math.random();',
      "import { randomBytes } from 'node:crypto';",
      'export const id = crypto.randomUUID();',
      'export const name = process.platform;',
      `export const name = \`${dollar}{process.env.HOME}\`;`,
      'setTimeout(() => {}, 1);',
      "await fetch('https://api.example');",
    ].map(
      (line): Case => ({
        rule: 'compileIsPure',
        offender: { 'operator/compile/a.ts': line },
        complaint: 'operator/compile/a.ts:1',
        innocent: { 'operator/publish/a.ts': line },
      }),
    ),
    {
      rule: 'compileIsPure',
      offender: { 'operator/compile/a.ts': 'const at = new Date()' },
      complaint: 'operator/compile/a.ts:1 new Date ( )',
      innocent: {
        'operator/compile/a.ts':
          "// Date.now()\nconst a = 'process.env', b = `Math.random()`, c = /new Date()/, d = new Date(now), e = row.process.id;",
      },
    },
    {
      rule: 'kubernetesClientInKube',
      offender: { 'operator/a.ts': `import { KubeConfig } from '${kubernetesClient}';` },
      complaint: 'operator/a.ts:1',
      innocent: { 'core/kube/agent.ts': `import { KubeConfig } from '${kubernetesClient}';` },
    },
    {
      rule: 'undiciInUpstream',
      offender: { 'gateway/attempt/a.ts': "import type { Pool } from 'undici';" },
      complaint: 'gateway/attempt/a.ts:1',
      innocent: {
        'gateway/upstream/pool.ts': "import { Pool } from 'undici';",
        'test/a.test.ts': "import { Agent } from 'undici';",
        'tools/bench/a.ts': "import { Agent } from 'undici';",
      },
    },
    {
      rule: 'fastifyAtTheDoor',
      offender: { 'gateway/limits/a.ts': "import type { FastifyRequest } from 'fastify';" },
      complaint: 'gateway/limits/a.ts:1',
      innocent: {
        'gateway/endpoints/server.ts': "import fastify from 'fastify';",
        'gateway/endpoints/models.ts': "import type { FastifyInstance } from 'fastify';",
        'dashboard/server.ts': "import fastify from 'fastify';",
      },
    },
    ...['auth', 'limits', 'route', 'attempt', 'upstream', 'meter'].flatMap((from, at, all) =>
      all.toSpliced(at, 1).map(
        (to): Case => ({
          rule: 'stagesApart',
          offender: { [`gateway/${from}/a.ts`]: `import '../${to}/b.ts';` },
          complaint: `gateway/${from}/a.ts:1 ../${to}/b.ts`,
          innocent: { [`gateway/${from}/a.ts`]: "import './b.ts';" },
        }),
      ),
    ),
    {
      rule: 'stagesApart',
      offender: { 'gateway/attempt/a.ts': "import { send } from '../upstream/send.ts';" },
      complaint: 'gateway/attempt/a.ts:1',
      innocent: {
        'gateway/attempt/a.ts': "import { x } from './backoff.ts';\nimport { y } from '../table/view.ts';",
        'gateway/pipeline.ts': "import './attempt/attempt.ts';\nimport './upstream/send.ts';",
      },
    },
    {
      rule: 'dialectsApart',
      offender: { 'gateway/dialects/openai-chat/a.ts': "import { x } from '../anthropic-messages/wire.ts';" },
      complaint: 'gateway/dialects/openai-chat/a.ts:1',
      innocent: {
        'gateway/dialects/openai-chat/a.ts':
          "import { x } from '../conversation.ts';\nimport './wire.ts';\nimport '../state/opaque.ts';",
        'gateway/dialects/registry.ts': "import './openai-chat/a.ts';\nimport './anthropic-messages/a.ts';",
      },
    },
    {
      rule: 'dialectsApart',
      offender: { 'gateway/dialects/openai/a.ts': "import { x } from '../openai-chat/a.ts';" },
      complaint: 'gateway/dialects/openai/a.ts:1',
      innocent: { 'gateway/dialects/openai-chat/a.ts': "import { x } from '../openai/a.ts';" },
    },
    {
      rule: 'dialectsApart',
      offender: { 'gateway/pipeline/a.ts': "import { x } from '../dialects/openai-chat/a.ts';" },
      complaint: 'gateway/pipeline/a.ts:1',
      innocent: { 'gateway/pipeline/a.ts': "import { x } from '../dialects/registry.ts';" },
    },
    ...['process.env.PORT', "process['env']", 'process\n  .env', 'globalThis.process.env'].map(
      (code): Case => ({
        rule: 'environmentInSettings',
        offender: { 'gateway/a.ts': `export const x = ${code};` },
        complaint: 'gateway/a.ts:1',
        innocent: {
          'gateway/process/settings.ts': `export const x = ${code};`,
          'tools/generate.ts': `export const x = ${code};`,
          'tools/bench/a.ts': `export const x = ${code};`,
          'gateway/a.ts': `export const x = ${JSON.stringify(code)};`,
        },
      }),
    ),
    {
      rule: 'environmentInSettings',
      offender: { 'core/kube/a.ts': "import { env } from 'node:process';" },
      complaint: 'core/kube/a.ts:1 node:process',
      innocent: { 'core/kube/settings.ts': "import { env } from 'node:process';" },
    },
    ...[
      'process.exit(1)',
      "process.once('SIGTERM', stop)",
      "process.on('exit', stop)",
      'process.exitCode = 1',
    ].map(
      (code): Case => ({
        rule: 'exitInMain',
        offender: { 'gateway/a.ts': `${code};` },
        complaint: 'gateway/a.ts:1 process',
        innocent: { 'gateway/main.ts': `${code};`, 'tools/build.ts': `${code};`, 'test/a.ts': `${code};` },
      }),
    ),
    {
      rule: 'exitInMain',
      offender: { 'gateway/endpoints/server.ts': "import closeWithGrace from 'close-with-grace';" },
      complaint: 'gateway/endpoints/server.ts:1',
      innocent: { 'gateway/main.ts': "import closeWithGrace from 'close-with-grace';" },
    },
    {
      rule: 'dashboardWithoutAccount',
      offender: {
        'dashboard/a.ts': "import { x } from '../core/kube/b.ts';",
        'core/kube/b.ts': "import { y } from './service-account.ts';",
        'core/kube/service-account.ts': '',
      },
      complaint: 'dashboard/a.ts, through core/kube/service-account.ts',
      innocent: { 'dashboard/a.ts': "import { x } from '../core/kube/connection.ts';" },
    },
    {
      rule: 'pagesKnowTypes',
      offender: { 'dashboard/pages/a.ts': "import { x } from '../server.ts';" },
      complaint: 'dashboard/pages/a.ts:1 ../server.ts',
      innocent: { 'dashboard/pages/a.ts': "import type { X } from '../api-types.ts';" },
    },
    {
      rule: 'noCycles',
      offender: {
        'gateway/a.ts': "import './b.ts';",
        'gateway/b.ts': "import type { C } from './c.ts';",
        'gateway/c.ts': "export { a } from './a.ts';",
      },
      complaint: 'gateway/a.ts -> gateway/b.ts -> gateway/c.ts -> gateway/a.ts',
      innocent: {
        'gateway/a.ts': "import './b.ts';\nimport './c.ts';",
        'gateway/b.ts': "import './c.ts';",
        'gateway/c.ts': '',
      },
    },
    ...['./b', './b.js', './missing.ts', '.'].map(
      (specifier): Case => ({
        rule: 'importsExist',
        offender: { 'gateway/a.ts': `import '${specifier}';`, 'gateway/b.ts': '' },
        complaint: `gateway/a.ts:1 ${specifier}`,
        innocent: {
          'gateway/a.ts': "import './b.ts';\nimport '../package.json';",
          'gateway/b.ts': '',
          'package.json': '',
        },
      }),
    ),
    ...[
      'export const a = 1;',
      'export async function* a() {}',
      'export abstract class a {}',
      'export interface a {}',
      'export type a = 1;',
    ].map(
      (declaration): Case => ({
        rule: 'exportsAreImported',
        offender: {
          'gateway/a.ts': declaration,
          'gateway/b.ts':
            "import './a.ts';\nimport { b as a } from './a.ts';\nimport { a as c } from './c.ts';",
        },
        complaint: 'gateway/a.ts:1 a',
        innocent: {
          'gateway/a.ts': declaration,
          'gateway/b.ts': "import { b, type a as c } from './a.ts';",
          'dashboard/c.ts': 'export const c = 1;',
          'dashboard/view.tsx': "import { c } from './c.ts';\nexport const View = () => <p>it's</p>;",
          'test/d.tsx': "import { View } from '../dashboard/view.tsx';",
          'gateway/e.ts': 'export const e = 1;',
          'gateway/f.ts': "const { e } = await import('./e.ts');",
        },
      }),
    ),
    {
      rule: 'importsReadable',
      offender: { 'gateway/a.ts': 'await import(name);' },
      complaint: 'gateway/a.ts:1',
      innocent: {
        'gateway/a.ts': "await import('./b.ts'); await import(`./c.ts`); import.meta.url; it.import(name);",
      },
    },
    {
      rule: 'importsReadable',
      offender: { 'gateway/a.ts': `await import(\`./${dollar}{name}.ts\`);` },
      complaint: 'gateway/a.ts:1',
      innocent: { 'test/a.ts': `await import(\`./${dollar}{name}.ts\`);` },
    },
    {
      rule: 'packagesDeclared',
      offender: { 'gateway/a.ts': "import { build } from 'esbuild';" },
      complaint: 'gateway/a.ts:1 esbuild',
      innocent: {
        'tools/build.ts': "import { build } from 'esbuild';",
        'tools/pack/a.ts': "import { build } from 'esbuild';",
        'gateway/a.ts': "import * as z from 'zod/v4';",
      },
    },
    {
      rule: 'packagesDeclared',
      offender: { 'test/a.ts': "import x from '@scope/unknown/deep';" },
      complaint: 'test/a.ts:1 @scope/unknown',
      innocent: { 'test/a.ts': "import x from 'node:fs';" },
    },
    ...[
      ['', 'home', 'someone', 'penstock'],
      ['', 'Users', 'someone'],
      ['', 'work', 'main'],
      ['', 'root', 'penstock'],
      ['', 'tmp', 'penstock'],
    ].map(
      (parts): Case => ({
        rule: 'noMachinePaths',
        offender: { 'gateway/a.ts': `\nconst folder = '${parts.join('/')}';` },
        complaint: `gateway/a.ts:2 ${parts.slice(0, 3).join('/')}`,
        innocent: {
          'gateway/a.ts': `const url = 'https://api.example${parts.join('/')}', relative = '.${parts.join('/')}';`,
        },
      }),
    ),
    {
      rule: 'noFetch',
      offender: { 'gateway/a.ts': "\nawait fetch('https://api.example');" },
      complaint: 'gateway/a.ts:2 fetch',
      innocent: { 'gateway/a.ts': 'class Shelf { async fetch(ref: string) { return this.fetch(ref); } }' },
    },
    ...[
      "import { get } from 'node:http';",
      "import net from 'node:net';",
      "import { lookup } from 'node:dns';",
    ].map(
      (line): Case => ({
        rule: 'fewConnect',
        offender: { 'gateway/a.ts': line },
        complaint: 'gateway/a.ts',
        innocent: { 'gateway/a.ts': "import { createServer, type Agent } from 'node:http';" },
      }),
    ),
    {
      rule: 'noDistinctHeaders',
      offender: { 'gateway/a.ts': 'const x = request.headersDistinct;' },
      complaint: 'gateway/a.ts:1 headersDistinct',
      innocent: { 'gateway/a.ts': 'const x = request.rawHeaders;' },
    },
    {
      rule: 'plainExpressions',
      offender: { 'gateway/a.ts': 'const x = new RegExp(text);' },
      complaint: 'gateway/a.ts:1 RegExp (',
      innocent: { 'gateway/a.ts': 'const x: RegExp = /^(?:\\.[a-z]+)+$/;' },
    },
    {
      rule: 'plainExpressions',
      offender: { 'core/kube/a.ts': 'const x = /^(?:[a-z]+)+$/;' },
      complaint: 'core/kube/a.ts:1 /^(?:[a-z]+)+$/',
      innocent: { 'core/kube/a.ts': 'const x = /^(?:-[a-z]+)+$/;' },
    },
    {
      rule: 'noMachinePaths',
      offender: { 'docs/guide.md': `see ${['', 'home', 'someone', 'notes.md'].join('/')}` },
      complaint: 'docs/guide.md:1',
      innocent: { 'docs/guide.md': 'mounted at /tmp, served at /v1/models, made by root' },
    },
  ];

  test.each(cases.map((row, index) => ({ ...row, title: `${index + 1}. ${rules[row.rule].sentence}` })))(
    '$title',
    ({ rule, offender, complaint, innocent }) => {
      const found = rules[rule].check(buildProject(offender));
      expect(found.length).toBeGreaterThan(0);
      expect(found[0]).toContain(complaint);
      expect(rules[rule].check(buildProject(innocent))).toEqual([]);
    },
  );

  test('no rule is without a case', () => {
    const proven = new Set(cases.map(({ rule }) => rule));
    expect(namedRules.map(([name]) => name).filter((name) => !proven.has(name))).toEqual([]);
  });
});

describe('imports are read from source', () => {
  test.each<[string, (string | undefined)[]]>([
    ["import a from 'x';", ['x']],
    ['import a, { b } from "x"', ['x']],
    ["import * as a from 'x';", ['x']],
    ["import {\n  a, // from 'no'\n  type B as C,\n} from 'x';", ['x']],
    ["import type { A } from 'x';", ['x']],
    ["import type from 'x';", ['x']],
    ["import { from } from 'x';", ['x']],
    ["import { 'odd name' as a } from 'x';", ['x']],
    ["import 'x';", ['x']],
    ["import a from 'x' with { type: 'json' };", ['x']],
    ["export { a } from 'x';", ['x']],
    ["export type { A } from 'x';", ['x']],
    ["export * from 'x'; export * as b from 'y';", ['x', 'y']],
    ["const a = await import('x');", ['x']],
    ["const a = await import('x', { with: { type: 'json' } });", ['x']],
    ["type A = import('x').A;", ['x']],
    ["type A = typeof import('x');", ['x']],
    ['import(`x`)', ['x']],
    [`import(\`x${dollar}{1}\`)`, [undefined]],
    ["import('x' + y)", [undefined]],
    ["require('x')", ['x']],
    ["import a = require('x');", ['x']],
    ["export const a = 1; const from = 'x';", []],
    ["export default 'x';", []],
    ["export type A = 'x';", []],
    ['export { a };\nconst b = "x";', []],
    ['import.meta.url', []],
    ["// import 'x'\n/* import 'y' */", []],
    ["const a = \"import 'x'\", b = `import 'y'`;", []],
    [`const a = \`${dollar}{\`${dollar}{await import('x')}\`} import 'y'\`;`, ['x']],
    ["const a = /import 'x'/; const b = /[/'\"]/g; import 'y';", ['y']],
    ["const a = b / c; const d = 'it'; e /= 2; import 'y';", ['y']],
    ["const a = (b) / 2; // '\nimport 'y';", ['y']],
    ["const a = 'it\\'s', b = \"\\\\\"; import 'y';", ['y']],
    ["const a = { import: 1, export: 'x' };", []],
    ["class A { #private = 1; static x = /'/; }\nimport 'y';", ['y']],
    ["if (a) { b() }\nimport 'y';", ['y']],
    ["const a = 1_000 / 2 / 3; const b = 0x1f / 4;\nimport 'y';", ['y']],
  ])('%j', (text, specifiers) => {
    expect(scanSource('a.ts', text).imports.map(({ specifier }) => specifier)).toEqual(specifiers);
  });

  test.each([
    ["const a = 'no end\n';", /^a\.ts:1: a string/],
    ['\nconst a = `no end', /^a\.ts:2: a template/],
    [`const a = \`${dollar}{b`, /^a\.ts: 1 braces/],
    ['if (a) {', /^a\.ts: 1 braces/],
  ])('source that cannot be read is refused: %j', (text, sentence) => {
    expect(() => scanSource('a.ts', text)).toThrow(sentence);
  });
});

/** Every pair of a folder and one that is above it or beside it, whatever the rows of the rule say. */
function importsThatNoFloorHas(): (readonly [from: string, to: string])[] {
  const processes = ['gateway', 'operator', 'ledger', 'simulator', 'dashboard'];
  const above = ['local', 'deploy/jobs', 'deploy/monitoring', 'tools', 'test'];
  const parts = ['catalog', 'contract', 'egress', 'telemetry', 'kube'].map((part) => `core/${part}`);
  const from = (lower: readonly string[], upper: readonly string[]) =>
    lower.flatMap((folder) =>
      upper.filter((other) => other !== folder).map((other) => [folder, other] as const),
    );
  return [
    ...from([...processes, ...parts], [...processes, ...above]),
    ...from(parts, parts).filter(([folder, other]) => `${folder} ${other}` !== 'core/contract core/catalog'),
    ...from(['deploy/jobs', 'deploy/monitoring'], [...processes, ...above, 'core/contract']),
    ...from(['local'], ['operator/publish', 'operator/watch', 'deploy/jobs', 'tools', 'test']),
    ...from(['tools'], ['local', 'simulator', 'deploy/jobs', 'test']),
  ];
}
