// What does the image hold, as whom does it run, and how does it start? The packer reads this table; a test holds the Dockerfile
// against it. It imports nothing: a stage of the Dockerfile runs it where there are no packages.

/** One image for all: they share what weighs, and the chart names one. */
export const processes = ['gateway', 'operator', 'ledger', 'simulator', 'dashboard'] as const;

/** Threads of a process: they lie beside it, where it looks for them. */
const threads = {
  'sqlite-worker': 'ledger/store/sqlite-worker.ts',
  'token-thread': 'gateway/meter/token-thread.ts',
} as const;

/** What a process loads only when a setting needs it: until then it is neither read nor kept in memory. */
export const onDemand = {
  'gateway-telemetry': 'gateway/trace/open-telemetry.ts',
  'metrics-telemetry': 'core/telemetry/open.ts',
} as const;

/** Packages whose code is in the pages of the dashboard, which are not bundled here. */
export const packagesOfPages = ['node_modules/preact'] as const;

/** One-time jobs of the chart: the Job of the demo, and the Pod of `helm test`. */
const jobs = ['apply-objects', 'helm-test'] as const;

/** Each is `dist/<name>.js`, made from this source. */
export const bundles: Readonly<Record<string, string>> = Object.fromEntries([
  ...processes.map((name) => [name, `${name}/main.ts`]),
  ...Object.entries(threads),
  ...Object.entries(onDemand),
  ...jobs.map((name) => [name, `deploy/jobs/${name}/main.ts`]),
]);

/** Processes whose start is compiled ahead. They exit without settings; the simulator would serve. */
export const compiledAhead = ['gateway', 'operator', 'ledger', 'dashboard'] as const;

/** Owns nothing in the image; the chart runs pods as this user. */
export const user = { name: 'nonroot', id: 65532 } as const;

const besideNames = Object.keys({ ...threads, ...onDemand });
const folder = '/app';

export const image = {
  folder,
  /** Of the image, each at the same place below `folder`; in the project the build writes them. */
  files: [
    ...[...processes, ...besideNames, ...jobs].map((name) => `dist/${name}.js` as const),
    // Says that they are modules; without it Node reads each twice to find that out.
    'dist/package.json',
    'dist/LICENSE',
    'dist/THIRD-PARTY-NOTICES',
    'dist/sbom.cdx.json',
  ],
  /** With all that is in them, each at the same place too: the pages of the dashboard, whose names say what is in them. */
  folders: ['dist/dashboard'],
  compileCache: `${folder}/compile-cache`,
  config: {
    User: `${user.id}:${user.id}`,
    WorkingDir: folder,
    Entrypoint: ['node'],
    Cmd: ['dist/gateway.js'],
    Env: {
      // The second is where distroless images have their Node.
      PATH: '/usr/local/bin:/nodejs/bin:/usr/bin:/bin',
      NODE_COMPILE_CACHE: `${folder}/compile-cache`,
      // No code here uses `__proto__` to reach a prototype. It is deleted, not made to throw: Node writes the names of headers into plain
      // objects, and one header would end the process (decision 0032). And no signal opens a debugger, which could read all secrets.
      NODE_OPTIONS: '--disable-proto=delete --disable-sigusr1',
      // Name look-ups may take half of them, for seconds each while a resolver is silent; idle threads cost next to nothing.
      UV_THREADPOOL_SIZE: '128',
    },
    Labels: {
      'org.opencontainers.image.title': 'penstock',
      'org.opencontainers.image.description': 'The Kubernetes-native gateway between programs and AI models',
      'org.opencontainers.image.licenses': 'Apache-2.0',
    },
  },
} as const;

/** Where a process of ours is in the image, as Node names modules. */
export function urlInImage(name: (typeof processes)[number]): string {
  return `file://${folder}/dist/${name}.js`;
}
