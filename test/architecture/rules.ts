// What may import what, and why. Each rule is a sentence, its reason, and a check that lists every place that breaks it.

import { findUnusedExports } from './exports.ts';
import { type Project, packageOf, type Source, targetOf } from './project.ts';
import type { Token } from './scan-source.ts';

export interface Rule {
  readonly sentence: string;
  /** The point of the rule; it is in the failure. */
  readonly why: string;
  /** One line for each offence: `path:line what`. */
  readonly check: (project: Project) => string[];
}

/** Who can open a connection. The drill has a socket that is never connected. */
const connectors = [
  'core/egress',
  'core/kube/connection.ts',
  'core/kube/own-call.ts',
  'core/telemetry/open.ts',
  'gateway/upstream',
  'gateway/drill/run-drill.ts',
];
const connectingModules =
  /^(?:node:)?(?:http2|dns|dns\/promises|dgram|child_process|cluster)$|^(?:undici|https?|net|tls)$|^@opentelemetry\/(?:exporter-|sdk-node)/;
/** Of node:http, node:https, node:net and node:tls; also all of them at once. */
const connectingNames =
  /(?<!type )\b(?:request|get|Agent|globalAgent|connect|createConnection|Socket|TLSSocket)\b|^\*|^\w/;

const kubernetesClient = '@kubernetes/client-node';
/** Loaded where an endpoint is set, and only then. */
const onDemand = [
  'core/telemetry/open.ts',
  'core/telemetry/metric-producer.ts',
  'core/telemetry/trace-context.ts',
  'gateway/trace',
];
/** They make the pages out of their sources, and are shipped themselves as little as tools/pack/ is. */
const pagesBuild = 'dashboard/build-pages.ts';
const pagesConfig = 'dashboard/pages/vite.config.ts';

const metricTables = [
  ...['gateway/meter/metric-table.ts', 'operator/metric-table.ts', 'ledger/metric-table.ts'],
  'dashboard/metric-table.ts',
];
/** Metrics: scraped from the process, and sent where an address is set. */
const ownMetrics = [
  ...['core/telemetry/metric.ts', 'core/telemetry/prometheus.ts', 'core/telemetry/process-server.ts'],
  'core/telemetry/build-info.ts',
  ...['core/telemetry/settings.ts', 'core/telemetry/send-metrics.ts'],
];
/** All reads of one run in one plain value: made by the watch, taken by compile, and so as pure as compile. */
const snapshotFile = 'operator/watch/snapshot.ts';
/** What each folder may import, beside itself. Processes are siblings: they meet in core, and local wires them together. */
const floors: Readonly<Record<string, readonly string[]>> = {
  'core/clock.ts': [],
  'core/help.ts': [],
  'core/parse-json.ts': [],
  // The lowest floor: what a table may say of dialects is what the catalogue has rows for.
  'core/catalog': [],
  'core/contract': ['core/catalog'],
  'core/egress': [],
  'core/telemetry': ['core/clock.ts'],
  'core/kube': ['core/clock.ts'],
  gateway: ['core'],
  operator: ['core'],
  ledger: ['core'],
  simulator: ['core/catalog'],
  // With the rights of its user, over HTTP.
  dashboard: ['core/clock.ts', 'core/help.ts', 'core/egress', 'core/kube', ...ownMetrics],
  local: [
    ...['core', 'dashboard', 'gateway', 'ledger', 'simulator'],
    ...['operator/compile', 'operator/resources', 'operator/status', 'operator/usage', snapshotFile],
  ],
  'deploy/jobs': ['core/kube'],
  'deploy/monitoring': ['core/telemetry', ...metricTables],
  tools: ['core', 'dashboard', 'deploy/monitoring', 'gateway', 'ledger', 'operator'],
};
const stages = ['auth', 'limits', 'route', 'attempt', 'upstream', 'meter'];
/** Of node's own modules, those that only compute. crypto also makes randomness, which is looked for by name. */
const pureNodeModules = new Set([
  'node:assert',
  'node:buffer',
  'node:crypto',
  'node:url',
  'node:util',
  'node:zlib',
]);

const machinePath =
  /(?<![\w.:/$}-])(?:\/(?:home|Users)\/\w+|\/(?:work|root|workspaces?)\/\w+|[A-Z]:\\Users\\)/;
const temporaryPath = /(?<![\w.:/$}-])\/(?:var\/)?tmp\/\w+/;

export const rules = {
  floors: {
    sentence: `each folder imports only from the floors below it: ${Object.keys(floors).join(', ')}`,
    why: 'Processes agree on values in core/contract and talk HTTP; none imports another. What a folder may import is its row in `floors`.',
    check: (project) =>
      offences(project, isOnFloors, (source) => {
        const floor = floorOf(source.path);
        if (floor === undefined) return [`${source.path}:1 is on no floor`];
        return source.imports
          .filter(({ specifier }) => {
            const target = targetOf(source, specifier);
            const isBelow =
              target === undefined || isInAny(target, [floor, 'package.json', ...(floors[floor] ?? [])]);
            return !isBelow;
          })
          .map(({ specifier, line }) => `${source.path}:${line} ${specifier}`);
      }),
  },
  gatewayWithoutKubernetesClient: {
    sentence: 'gateway reaches no file that imports the Kubernetes client',
    why: 'The client costs every pod 90 MB of memory; of core/kube/ the gateway takes only the parts without it.',
    check: (project) =>
      offences(
        project,
        (path) => isIn(path, 'gateway'),
        (source) =>
          source.imports.flatMap(({ specifier, line }) => {
            if (packageOf(specifier) === kubernetesClient) return [`${source.path}:${line} ${specifier}`];
            const target = targetOf(source, specifier);
            // Inside the gateway the offender speaks for itself; here we look through the door to other folders.
            if (target === undefined || isIn(target, 'gateway')) return [];
            const reached = reachable(project, target).find((path) =>
              importsPackage(project, path, kubernetesClient),
            );
            return reached === undefined ? [] : [`${source.path}:${line} ${specifier}, through ${reached}`];
          }),
      ),
  },
  contractUsesSchemasOnly: {
    sentence: 'core/contract imports of packages only zod, and core/catalog none',
    why: 'What imports nothing can be imported anywhere, cannot drag Kubernetes in by the back door; rows are data.',
    check: (project) =>
      offences(
        project,
        (path) => isInAny(path, ['core/catalog', 'core/contract']),
        (source) =>
          source.imports
            .filter(({ specifier }) => targetOf(source, specifier) === undefined)
            .filter(({ specifier }) => specifier !== 'zod' || isIn(source.path, 'core/catalog'))
            .map(({ specifier, line }) => `${source.path}:${line} ${specifier}`),
      ),
  },
  compileUsesValuesOnly: {
    sentence:
      'operator/compile imports only operator/resources, operator/lists, core/catalog, core/contract, the Snapshot and the address rules',
    why: 'Same snapshot, same table: what it may not import cannot make it depend on anything else.',
    check: forbidTargets(
      isPure,
      (target) =>
        !isInAny(target, ['operator/compile', 'operator/resources', 'operator/lists']) &&
        !isInAny(target, ['core/catalog', 'core/contract']) &&
        target !== snapshotFile &&
        target !== 'core/egress/address-rules.ts',
    ),
  },
  compileIsPure: {
    sentence: 'operator/compile does no I/O and knows no clock, randomness or environment',
    why: 'Same snapshot, same table: golden files, replay, "what would change if".',
    check: (project) =>
      offences(project, isPure, (source) => [
        ...source.imports
          .filter(({ specifier = '' }) => specifier.startsWith('node:') && !pureNodeModules.has(specifier))
          .map(({ specifier, line }) => `${source.path}:${line} ${specifier}`),
        ...findCode(source, [
          ...[
            ['Date', '.', 'now'],
            ['new', 'Date', '(', ')'],
            ['Math', '.', 'random'],
            ['performance', '.', 'now'],
          ],
          ...[
            ['process', '.'],
            ['setTimeout', '('],
            ['setInterval', '('],
            ['setImmediate', '('],
            ['fetch', '('],
          ],
          ...[
            ['randomUUID'],
            ['randomBytes'],
            ['randomInt'],
            ['randomFill'],
            ['randomFillSync'],
            ['getRandomValues'],
          ],
        ]),
        // `new Date` without parentheses is the same call.
        ...findCode(source, [['new', 'Date']], (after) => after?.text !== '('),
      ]),
  },
  kubernetesClientInKube: packageRule(
    kubernetesClient,
    ['core/kube'],
    'Its loose types stop at the edge, and there is one agent, not one for each caller.',
  ),
  undiciInUpstream: packageRule(
    'undici',
    ['gateway/upstream'],
    'The middle is plain functions over plain values; one place knows the HTTP client.',
  ),
  fastifyAtTheDoor: packageRule(
    'fastify',
    ['gateway/endpoints', 'dashboard'],
    'The middle is plain functions over plain values; one place knows the HTTP server.',
  ),
  stagesApart: {
    sentence: `stage folders (${stages.join(', ')}) do not import each other`,
    why: 'pipeline.ts composes them; a stage that calls another hides the order.',
    check: forbidTargets(
      (path) => stageOf(path) !== undefined,
      (target, path) => stageOf(target) !== undefined && stageOf(target) !== stageOf(path),
    ),
  },
  dialectsApart: {
    sentence: 'a dialect is imported by nobody but its own folder and the registry',
    why: 'N + M, not N x M: a new dialect is a new folder and a registry line; what dialects share knows none of them.',
    check: forbidTargets(
      (path) => isIn(path, 'gateway') && path !== 'gateway/dialects/registry.ts',
      (target, path) => dialectOf(target) !== undefined && dialectOf(target) !== dialectOf(path),
    ),
  },
  environmentInSettings: {
    sentence: 'only settings.ts files read the environment',
    why: 'What a process can be reported is on one page, is checked once, and any module is safe to import in a test.',
    check: (project) =>
      offences(
        project,
        (path) => isProduct(path) && baseName(path) !== 'settings.ts',
        (source) => [
          ...findCode(source, [
            ['process', '.', 'env'],
            ['process', '['],
          ]),
          ...findImports(source, ['node:process', 'process']),
        ],
      ),
  },
  exitInMain: {
    sentence: 'only main.ts files handle signals and end the process',
    why: 'Any module is safe to import in any test, and there is one place that decides how a process ends.',
    check: (project) =>
      offences(
        project,
        (path) => isProduct(path) && baseName(path) !== 'main.ts',
        (source) => [
          ...findCode(
            source,
            ['exit', 'exitCode', 'abort', 'kill', 'on', 'once', 'addListener'].map((name) => [
              'process',
              '.',
              name,
            ]),
          ),
          ...findImports(source, ['close-with-grace']),
        ],
      ),
  },
  dashboardWithoutAccount: {
    sentence: 'dashboard reaches no file that reads a ServiceAccount or a kubeconfig',
    why: 'It holds no power of its own: there is no code in it that could use any.',
    check: (project) =>
      [...project.sources.values()]
        .filter(({ path }) => isIn(path, 'dashboard'))
        .flatMap(({ path }) =>
          ['core/kube/service-account.ts', 'core/kube/config.ts']
            .filter((door) => reachable(project, path).includes(door))
            .map((door) => `${path}, through ${door}`),
        ),
  },
  pagesKnowTypes: {
    sentence:
      'the pages of the dashboard import nothing of its server but types, from dashboard/api-types.ts',
    why: 'They run elsewhere, and what is reported between them is in one place.',
    check: forbidTargets(
      (path) => isIn(path, 'dashboard/pages'),
      (target) => !isIn(target, 'dashboard/pages') && target !== 'dashboard/api-types.ts',
    ),
  },
  noFetch: {
    sentence: 'gateway, operator and core fetch no URL',
    why: 'What connects goes through the guard of core/egress/, or to the API server; no code exists that could follow a URL of a request.',
    check: (project) =>
      offences(
        project,
        (path) => isInAny(path, ['gateway', 'operator', 'core']),
        ({ path, tokens }) =>
          tokens.flatMap(({ kind, text, line }, index) => {
            const isCall = kind === 'word' && text === 'fetch' && tokens[index + 1]?.text === '(';
            const isOther = ['.', 'async'].includes(tokens[index - 1]?.text ?? '');
            return isCall && !isOther ? [`${path}:${line} fetch`] : [];
          }),
      ),
  },
  pagesInBrowser: {
    sentence: 'the pages of the dashboard import of packages only preact, and nothing of node',
    why: 'They run in a browser, and are to be small.',
    check: (project) =>
      offences(
        project,
        (path) => isIn(path, 'dashboard/pages') && path !== pagesConfig,
        (source) =>
          source.imports
            .filter(
              ({ specifier }) =>
                targetOf(source, specifier) === undefined && packageOf(specifier) !== 'preact',
            )
            .map(({ specifier, line }) => `${source.path}:${line} ${specifier}`),
      ),
  },
  fewConnect: {
    sentence: `of gateway, operator and core, only ${connectors.join(', ')} can open a connection`,
    why: 'Each of them goes through the guard, to the API server, to our own pods or to the collector; nothing else could follow a URL of a request.',
    check: (project) =>
      offences(
        project,
        (path) => isInAny(path, ['gateway', 'operator', 'core']) && !isInAny(path, connectors),
        (source) => [
          ...[...source.text.matchAll(/^import (?!type )(\S[^;]*?) from '([^']+)'/gms)]
            .filter(
              ([, names = '', module = '']) =>
                connectingModules.test(module) ||
                (/^node:(?:https?|net|tls)$/.test(module) && connectingNames.test(names)),
            )
            .map(([, , module]) => `${source.path} ${module}`),
          ...findCode(source, [
            ['new', 'WebSocket'],
            ['new', 'EventSource'],
          ]),
        ],
      ),
  },
  openTelemetryOnDemand: {
    sentence: `OpenTelemetry is imported by ${onDemand.join(', ')} alone, and these by others only with \`import()\``,
    why: 'Where no endpoint is set, nothing of it is read or kept in memory.',
    check: (project) =>
      offences(
        project,
        (path) => isProduct(path) && !isInAny(path, onDemand),
        (source) =>
          [...source.text.matchAll(/^import (?!type )\S[^;]*? from '([^']+)'/gms)]
            .map(([, module = '']) => module)
            .filter(
              (module) =>
                packageOf(module)?.startsWith('@opentelemetry/') ||
                isInAny(targetOf(source, module) ?? '', onDemand),
            )
            .map((module) => `${source.path} ${module}`),
      ),
  },
  noDistinctHeaders: {
    sentence: 'nothing reads headersDistinct or trailersDistinct',
    why: 'A header called __proto__ makes them throw (CVE-2026-21710); repeated headers are read from rawHeaders.',
    check: (project) =>
      offences(project, isProduct, (source) => findCode(source, [['headersDistinct'], ['trailersDistinct']])),
  },
  plainExpressions: {
    sentence: 'in gateway and core no regular expression is built at run time, and none repeats a repetition',
    why: 'What callers and upstreams send is matched in linear time; an expression that backtracks stops all requests of a process.',
    check: (project) =>
      offences(
        project,
        (path) => isInAny(path, ['gateway', 'core']),
        (source) => [
          ...findCode(source, [['RegExp', '(']]),
          ...source.tokens
            // Behind a separator of its own, a repetition can be read in one way only.
            .filter(
              ({ kind, text }) =>
                kind === 'regex' && /\((?:\?:)?(?!\?:|\\[./]|-)[^()]*[+*]\)[+*{]/.test(text),
            )
            .map(({ text, line }) => `${source.path}:${line} ${text}`),
        ],
      ),
  },
  noCycles: {
    sentence: 'no file imports itself, by any way round',
    why: 'A cycle is one module in several files; it cannot be read, tested or moved in parts.',
    check: findCycles,
  },
  importsExist: {
    sentence: 'every relative import has its extension and names a file that exists',
    why: 'Node runs these files as they are and guesses no endings.',
    check: (project) =>
      offences(
        project,
        () => true,
        (source) =>
          source.imports
            .filter(({ specifier }) => {
              const target = targetOf(source, specifier);
              return target !== undefined && !(/\.(?:tsx?|json)$/.test(target) && project.has(target));
            })
            .map(({ specifier, line }) => `${source.path}:${line} ${specifier}`),
      ),
  },
  exportsAreImported: {
    sentence: 'every export of the product is imported somewhere',
    why: 'An export is a promise to other files. Without one of them it only hides that the declaration can change or go.',
    check: (project) => findUnusedExports(project, (path) => floorOf(path) !== undefined),
  },
  importsReadable: {
    sentence: 'no import is computed at run time',
    why: 'What cannot be read here cannot be held to any of these rules.',
    check: (project) =>
      offences(project, isProduct, (source) =>
        source.imports
          .filter(({ specifier }) => specifier === undefined)
          .map(({ line }) => `${source.path}:${line} a computed import`),
      ),
  },
  packagesDeclared: {
    sentence: 'every imported package is declared, and the product imports no devDependency',
    why: 'An image holds the dependencies alone; what another package happens to bring along may go with its next release.',
    check: (project) =>
      offences(
        project,
        () => true,
        (source) => {
          const { dependencies, devDependencies } = project.packageJson;
          const declared = new Set(
            isProduct(source.path) ? dependencies : [...dependencies, ...devDependencies],
          );
          return source.imports.flatMap(({ specifier, line }) => {
            const name = packageOf(specifier);
            return name === undefined || declared.has(name) ? [] : [`${source.path}:${line} ${name}`];
          });
        },
      ),
  },
  noMachinePaths: {
    sentence: 'no file speaks of a path on a machine',
    why: 'The project must read and run the same everywhere; temporary files come from os.tmpdir().',
    check: (project) => {
      const texts = [
        ...project.texts,
        ...[...project.sources].map(([path, { text }]) => [path, text] as const),
      ];
      return texts.flatMap(([path, text]) =>
        text.split('\n').flatMap((line, index) => {
          const found = machinePath.exec(line) ?? (path.endsWith('.ts') ? temporaryPath.exec(line) : null);
          return found === null ? [] : [`${path}:${index + 1} ${found[0]}`];
        }),
      );
    },
  },
} satisfies Record<string, Rule>;

export type RuleName = keyof typeof rules;

function packageRule(name: string, places: readonly string[], why: string): Rule {
  return {
    sentence: `only ${places.join(', ')} of the product import ${name}`,
    why,
    check: (project) =>
      offences(
        project,
        (path) => isProduct(path) && !isInAny(path, places),
        (source) =>
          source.imports
            .filter(({ specifier }) => packageOf(specifier) === name)
            .map(({ line }) => `${source.path}:${line} ${name}`),
      ),
  };
}

function forbidTargets(
  isBound: (path: string) => boolean,
  isForbidden: (target: string, path: string) => boolean,
): (project: Project) => string[] {
  return (project) =>
    offences(project, isBound, (source) =>
      source.imports
        .filter(({ specifier }) => {
          const target = targetOf(source, specifier);
          return target !== undefined && isForbidden(target, source.path);
        })
        .map(({ specifier, line }) => `${source.path}:${line} ${specifier}`),
    );
}

function offences(
  project: Project,
  isBound: (path: string) => boolean,
  find: (source: Source) => string[],
): string[] {
  return [...project.sources.values()].filter(({ path }) => isBound(path)).flatMap(find);
}

/** Places where the words and marks of one of the sequences stand in a row as code. */
function findCode(
  source: Source,
  sequences: readonly (readonly string[])[],
  isOffence: (after: Token | undefined) => boolean = () => true,
): string[] {
  const isCode = (index: number, text: string) => {
    const token = source.tokens[index];
    return token !== undefined && (token.kind === 'word' || token.kind === 'mark') && token.text === text;
  };
  return source.tokens.flatMap((token, index) => {
    // `options.process` is somebody's field, `globalThis.process` the process; a lone word means itself everywhere.
    const isField = isCode(index - 1, '.') && !isCode(index - 2, 'globalThis');
    return sequences
      .filter((sequence) => !isField || sequence.length === 1)
      .filter((sequence) => sequence.every((text, offset) => isCode(index + offset, text)))
      .filter((sequence) => isOffence(source.tokens[index + sequence.length]))
      .map((sequence) => `${source.path}:${token.line} ${sequence.join(' ')}`);
  });
}

function findImports(source: Source, specifiers: readonly string[]): string[] {
  return source.imports
    .filter(({ specifier }) => specifier !== undefined && specifiers.includes(specifier))
    .map(({ specifier, line }) => `${source.path}:${line} ${specifier}`);
}

function findCycles(project: Project): string[] {
  const cycles: string[] = [];
  const finished = new Set<string>();
  const walk = (path: string, way: readonly string[]): void => {
    const start = way.indexOf(path);
    if (start >= 0) cycles.push([...way.slice(start), path].join(' -> '));
    if (start >= 0 || finished.has(path)) return;
    for (const target of targetsOf(project, path)) walk(target, [...way, path]);
    finished.add(path);
  };
  for (const path of project.sources.keys()) walk(path, []);
  return cycles;
}

function reachable(project: Project, start: string): string[] {
  const seen = new Set([start]);
  for (const path of seen) for (const target of targetsOf(project, path)) seen.add(target);
  return [...seen];
}

function targetsOf(project: Project, path: string): string[] {
  const source = project.sources.get(path);
  if (source === undefined) return [];
  return source.imports.flatMap(({ specifier }) => {
    const target = targetOf(source, specifier);
    return target !== undefined && project.sources.has(target) ? [target] : [];
  });
}

function importsPackage(project: Project, path: string, name: string): boolean {
  return project.sources.get(path)?.imports.some(({ specifier }) => packageOf(specifier) === name) ?? false;
}

function isIn(path: string, place: string): boolean {
  return path === place || path.startsWith(`${place}/`);
}

function isInAny(path: string, places: readonly string[]): boolean {
  return places.some((place) => isIn(path, place));
}

/** What is shipped: not the tests, not the benchmarks, not what packs it, not the scripts at the root. */
function isProduct(path: string): boolean {
  return path.includes('/') && !isInAny(path, ['test', 'tools', pagesBuild, pagesConfig]);
}

function isPure(path: string): boolean {
  return isInAny(path, ['operator/compile', 'operator/lists']) || path === snapshotFile;
}

function baseName(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

function stageOf(path: string): string | undefined {
  return stages.find((stage) => isIn(path, `gateway/${stage}`));
}

/** The folders of `gateway/dialects` that belong to no dialect. */
const sharedByDialects = ['answer', 'anthropic', 'events', 'openai', 'request', 'state', 'tools'];

function dialectOf(path: string): string | undefined {
  const folder = /^gateway\/dialects\/([^/]+)\//.exec(path)?.[1];
  return folder !== undefined && sharedByDialects.includes(folder) ? undefined : folder;
}

/** Tests import everything; the settings of tools at the root import nothing of ours. */
function isOnFloors(path: string): boolean {
  return path.includes('/') && !isIn(path, 'test');
}

function floorOf(path: string): string | undefined {
  return Object.keys(floors).find((floor) => isIn(path, floor));
}
