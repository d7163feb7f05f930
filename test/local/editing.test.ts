// An edit of a manifest is live at once; a bad one is reported with file, line and field, and changes nothing.

import { mkdir, open, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { makeCertificate } from '../core/egress/certificates.ts';
import {
  copyQuickstart,
  describeModels,
  type LocalRig,
  makeFolders,
  type RigOptions,
  startLocalRig,
} from './rig.ts';

let rig: LocalRig | undefined;

afterEach(async () => {
  await rig?.close();
  rig = undefined;
});

async function start(options?: RigOptions): Promise<LocalRig> {
  rig = await startLocalRig(options);
  return rig;
}

/** It takes less than a tenth of a second. This is far above it, for a busy machine: only a hang would reach it. */
const liveWithinMs = 5_000;

describe('a good edit', () => {
  test('is live at once: the new model id answers, the old one is not known any more', async () => {
    const local = await start();
    expect((await local.ask('penstock/small')).status).toBe(200);
    const editedAtMs = performance.now();
    await local.edit('routes.yaml', 'model: penstock/small', 'model: penstock/tiny');
    expect(await local.next(/^Live/)).toBe(
      'Live: generation 2, 2 models. Changed ModelRoute default/small (penstock/tiny).',
    );
    expect(performance.now() - editedAtMs).toBeLessThan(liveWithinMs);
    expect((await local.ask('penstock/tiny')).status).toBe(200);
    expect((await local.ask('penstock/small')).status).toBe(404);
  });

  test('that adds a TenantPolicy bounds the keys of its namespace; a wrong one changes nothing', async () => {
    const local = await start();
    await writeFile(
      join(local.manifests, 'tenants.yaml'),
      'apiVersion: penstock.dev/v1alpha1\nkind: TenantPolicy\nmetadata: {name: laptop}\nspec:\n  namespaces: {selector: {}}\n  limits: {requestsPerMinute: 1}\n',
    );
    expect(await local.next(/^Live/)).toMatch(/^Live: generation 2, 2 models\./);
    expect((await local.ask('penstock/small')).status).toBe(200);
    expect((await local.ask('penstock/small')).status).toBe(429);
    await local.edit('tenants.yaml', 'requestsPerMinute: 1', 'requestPerMinute: 9');
    expect(await local.next(/^problem/)).toBe(
      'problem  tenants.yaml:6: TenantPolicy laptop: spec.limits.requestPerMinute: unknown field; did you mean requestsPerMinute?',
    );
    expect((await local.ask('penstock/small')).status).toBe(429);
  });

  test('that moves a target sends the next request there', async () => {
    const local = await start();
    await local.edit('routes.yaml', 'upstreamModel: sim-small', 'upstreamModel: sim-moved');
    await local.next(/^Live/);
    expect((await local.ask('penstock/small')).text).toContain('sim-moved');
  });

  test.each(['sim-small+fault=error-503', 'sim-small+text=50%25,+once'])(
    'that puts a directive of the simulator behind the model name is taken: %s',
    async (upstreamModel) => {
      const local = await start();
      await local.edit('routes.yaml', 'upstreamModel: sim-small', `upstreamModel: ${upstreamModel}`);
      expect(await local.next(/^Live|^problem/)).toMatch(/^Live: generation 2, 2 models\./);
      const { status, attempts } = await local.ask('penstock/small');
      // The fault is met at the first target, and the second answers.
      const isFault = upstreamModel.includes('fault');
      expect({ status, attempts }).toEqual({ status: 200, attempts: isFault ? '2' : '1' });
    },
  );

  test('that takes a route out of a file takes its model away', async () => {
    const local = await start();
    await local.edit('routes.yaml', /^---[\s\S]*$/m, '');
    expect(await local.next(/^Live/)).toMatch(/^Live: generation 2, 1 model\./);
    expect(await local.models()).toEqual(['penstock/small']);
    expect((await local.ask('penstock/failover')).status).toBe(404);
  });

  test('that deletes the file of the keys ends them, and putting it back gives the same key', async () => {
    const local = await start();
    const path = join(local.manifests, 'key.yaml');
    await rename(path, `${path}.away`);
    await local.next(/^Live/);
    expect((await local.ask('penstock/small')).status).toBe(401);
    await rename(`${path}.away`, path);
    await local.next(/^Live/);
    expect((await local.ask('penstock/small')).status).toBe(200);
  });

  test('logs added and removed objects, and the file of a new key', async () => {
    const local = await start();
    await local.write(
      'team.yaml',
      'apiVersion: penstock.dev/v1alpha1\nkind: ApiKey\nmetadata: { name: ci, namespace: team-a }\nspec: {}\n',
    );
    const keyFile = join(local.state, 'keys', 'team-a', 'ci');
    expect(await local.next(/^Live/)).toBe(
      `Live: generation 2, 2 models. Added ApiKey team-a/ci (its key: ${keyFile}).`,
    );
    expect(await local.models((await readFile(keyFile, 'utf8')).trim())).toContain('penstock/small');
    await rm(join(local.manifests, 'team.yaml'));
    expect(await local.next(/^Live/)).toBe('Live: generation 3, 2 models. Removed ApiKey team-a/ci.');
  });

  test('of a comment alone logs and changes nothing', async () => {
    const local = await start();
    await local.edit('routes.yaml', /^/, '# A comment\n');
    await local.edit('key.yaml', 'displayName: Quickstart', 'displayName: Renamed');
    await local.edit('routes.yaml', 'model: penstock/small', 'model: penstock/tiny');
    expect(await local.next(/./)).toMatch(/^Live: generation 2, 2 models\./);
  });
});

describe('manifests that kubectl apply takes', () => {
  const route = (name: string) => `
apiVersion: penstock.dev/v1alpha1
kind: ModelRoute
metadata: { name: ${name}, namespace: default }
spec:
  model: penstock/${name}
  targets: [{ name: main, providerRef: { name: first }, upstreamModel: sim-small }]
`;
  const asItem = (yaml: string) => yaml.trim().replaceAll('\n', '\n    ');

  test.each([
    ['a v1 List', 'list.yaml', `apiVersion: v1\nkind: List\nitems:\n  - ${asItem(route('added'))}\n`],
    [
      'a list of one kind',
      'list.yml',
      `apiVersion: penstock.dev/v1alpha1\nkind: ModelRouteList\nitems:\n  - ${asItem(route('added'))}\n`,
    ],
    [
      'anchors, aliases and merge keys',
      'anchors.yaml',
      route('added').replace(
        'targets: [{ name: main, providerRef: { name: first }, upstreamModel: sim-small }]',
        'targets:\n    - &main { name: main, providerRef: { name: first }, upstreamModel: sim-small }\n' +
          '    - { <<: *main, name: again, priority: 1 }',
      ),
    ],
    [
      'JSON',
      'route.json',
      JSON.stringify({
        apiVersion: 'penstock.dev/v1alpha1',
        kind: 'ModelRoute',
        metadata: { name: 'added' },
        spec: {
          model: 'penstock/added',
          targets: [{ name: 'main', providerRef: { name: 'first' }, upstreamModel: 'sim-small' }],
        },
      }),
    ],
    ['an empty document between others', 'many.yaml', `---\n# nothing\n---\n${route('added')}---\n`],
    [
      'an object as kubectl get prints it',
      'exported.yaml',
      route('added').replace(
        'namespace: default }',
        'namespace: default, uid: a, resourceVersion: "7", generation: 3, creationTimestamp: null, managedFields: [] }\n' +
          'status: { conditions: [] }',
      ),
    ],
  ])('%s is taken', async (_what, name, content) => {
    const local = await start();
    await local.write(name, content);
    expect(await local.next(/./)).toMatch(/^Live: generation 2, 3 models\./);
    expect((await local.ask('penstock/added')).status).toBe(200);
  });

  test('a file that an editor empties and writes again, piece by piece, is applied once it is complete', async () => {
    const local = await start();
    const path = join(local.manifests, 'routes.yaml');
    const whole = `${await readFile(path, 'utf8')}---\n${route('added')}`;
    await using file = await open(path, 'w');
    await file.write(whole.slice(0, whole.length / 2));
    await file.write(whole.slice(whole.length / 2));
    await local.next(/^Live: generation \d+, 3 models\./);
    expect((await local.ask('penstock/added')).status).toBe(200);
  });

  test('objects of other kinds are ignored with one note, and block nothing', async () => {
    const local = await start();
    const foreign =
      'apiVersion: v1\nkind: Service\nmetadata: { name: settings }\nspec: { type: ClusterIP }\n';
    await local.write('other.yaml', `${foreign}---\n${route('added')}`);
    expect(await local.next(/./)).toBe(
      "note     other.yaml:2: Service default/settings: Service of apiVersion 'v1' is ignored: " +
        'local mode does not use this kind',
    );
    expect(await local.next(/./)).toMatch(/^Live: generation 2, 3 models\./);
    await local.write('other.yaml', `${foreign}---\n${route('again')}`);
    expect(await local.next(/./)).toMatch(/^Live: generation 3, 3 models\./);
  });

  test('a ConfigMap with the authority of a Provider is read, and one without is reported', async () => {
    const local = await start();
    const configMap = (text: string) =>
      JSON.stringify({
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name: 'ca' },
        data: { 'ca.crt': text },
      });
    const provider = JSON.stringify({
      apiVersion: 'penstock.dev/v1alpha1',
      kind: 'Provider',
      metadata: { name: 'private' },
      spec: {
        type: 'OpenAICompatible',
        baseURL: 'https://models.example/v1',
        apis: ['ChatCompletions'],
        auth: { type: 'None' },
        tls: { caRef: { name: 'ca' } },
      },
    });
    const authority = makeCertificate({ name: 'authority', isCa: true });
    await local.write('private.yaml', `${provider}\n---\n${configMap('not a certificate')}`);
    expect(await local.next(/./)).toMatch(
      /private.yaml:1: .*ca.crt in ConfigMap ca holds no PEM certificate/,
    );
    await local.write('private.yaml', `${provider}\n---\n${configMap(authority.cert)}`);
    expect(await local.next(/Live/)).toMatch(/^Live: generation \d/);
  });

  test('a dialect that no target can serve is reported in a note, and the rest of the model is served', async () => {
    const local = await start();
    await local.write(
      'text.yaml',
      `apiVersion: penstock.dev/v1alpha1
kind: Provider
metadata: { name: text }
spec: { type: OpenAICompatible, baseURL: "${local.upstream.url}/v1", apis: [Completions], auth: { type: None } }
---
apiVersion: penstock.dev/v1alpha1
kind: ModelRoute
metadata: { name: text }
spec:
  model: penstock/text
  apis: [ChatCompletions, Completions]
  capabilities: [Tools]
  targets: [{ name: main, providerRef: { name: text }, upstreamModel: sim-small }]
`,
    );
    expect(await local.next(/./)).toMatch(
      /^note {5}text\.yaml:1[12]: ModelRoute default\/text: no target can serve ChatCompletions .*: tools .* impossible;/,
    );
    expect(await local.next(/./)).toMatch(/^Live: generation 2, 3 models\./);
  });

  test('locks and half-written copies of editors are not manifests', async () => {
    const local = await start();
    await local.write('.#routes.yaml', 'not: [ yaml');
    await local.write('routes.yaml~', 'not: [ yaml');
    await mkdir(join(local.manifests, 'folder.yaml'));
    await local.write('added.yaml', route('added'));
    expect(await local.next(/./)).toMatch(/^Live: generation 2, 3 models\./);
  });

  test('a namespace exists by its use, and sees objects shared with all', async () => {
    const local = await start();
    await local.write(
      'team.yaml',
      'apiVersion: penstock.dev/v1alpha1\nkind: ApiKey\nmetadata: { name: bot, namespace: team-a }\nspec: {}\n',
    );
    await local.next(/^Live/);
    expect(await local.models(local.key)).toEqual(['penstock/failover', 'penstock/small']);
  });
});

describe('a bad edit', () => {
  const secretKey = 'sk-must-not-be-printed';
  // One for all: each edit is made good again behind its test.
  let local: LocalRig;
  beforeAll(async () => {
    local = await startLocalRig();
  });
  afterAll(() => local.close());

  test.each<[string, (local: LocalRig) => Promise<void>, RegExp]>([
    [
      'a misspelt field',
      (local) => local.edit('routes.yaml', 'upstreamModel: sim-spare', 'upstreamModl: sim-spare'),
      /^problem {2}routes\.yaml:25: ModelRoute default\/small: spec\.targets\[1\]\.upstreamModl: unknown field; did you mean upstreamModel\?$/,
    ],
    [
      'a value of the wrong type',
      (local) => local.edit('routes.yaml', 'contextLength: 128000', 'contextLength: many'),
      /^problem {2}routes\.yaml:14: ModelRoute default\/small: spec\.contextLength: must be a.*number/,
    ],
    [
      'a target whose Provider is not there',
      (local) => local.edit('routes.yaml', 'providerRef: { name: second }', 'providerRef: { name: third }'),
      /^problem {2}routes\.yaml:\d+: ModelRoute default\/small: .*third/,
    ],
    [
      'YAML that cannot be read',
      (local) => local.edit('key.yaml', 'owner: { name: You }', 'owner: { name: You'),
      /^problem {2}key\.yaml:\d+:\d+: /,
    ],
    [
      'an alias without its anchor',
      (local) => local.edit('key.yaml', 'owner: { name: You }', 'owner: *nobody'),
      /^problem {2}key\.yaml:\d+.*nobody/,
    ],
    [
      'aliases that would fill the memory',
      (local) => {
        const layers = Array.from(
          { length: 12 },
          (_, at) => `a${at + 1}: &a${at + 1} [${Array(9).fill(`*a${at}`).join(', ')}]`,
        );
        return local.write('bomb.yaml', `a0: &a0 [x]\n${layers.join('\n')}\n`);
      },
      /^problem {2}bomb\.yaml:1: .*alias/,
    ],
    [
      'a field that is indented too far',
      (local) => local.edit('key.yaml', '  owner:', '    owner:'),
      /^problem {2}key\.yaml:\d+:\d+: .*; check the indentation, and quote a value that holds ": "$/,
    ],
    [
      'what is no Kubernetes object',
      (local) => local.write('list.yaml', '- one\n- two\n'),
      /^problem {2}list\.yaml:1: not a Kubernetes object; it needs apiVersion, kind and metadata\.name$/,
    ],
    [
      'the same object twice',
      (local) =>
        local.write(
          'twice.yaml',
          'apiVersion: penstock.dev/v1alpha1\nkind: ApiKey\nmetadata:\n  name: quickstart\nspec: {}\n',
        ),
      /^problem {2}twice\.yaml:4: ApiKey default\/quickstart: already defined at key\.yaml:3; rename one of the two$/,
    ],
    [
      'a version that is not there',
      (local) => local.edit('key.yaml', 'penstock.dev/v1alpha1', 'penstock.dev/v2'),
      /^problem {2}key\.yaml:3: .*apiVersion 'penstock\.dev\/v2' is not supported; write penstock\.dev\/v1alpha1$/,
    ],
    [
      'a misspelt group',
      (local) => local.edit('key.yaml', 'penstock.dev/v1alpha1', 'penstok.dev/v1alpha1'),
      /^problem {2}key\.yaml:3: .*apiVersion 'penstok\.dev\/v1alpha1' is not supported/,
    ],
    [
      'a kind that is not there',
      (local) => local.edit('key.yaml', 'kind: ApiKey', 'kind: ApiKeys'),
      /^problem {2}key\.yaml:4: .*the kinds are Provider, ModelRoute, ApiKey, TenantPolicy$/,
    ],
    [
      'a label that YAML does not read as a string',
      (local) => local.edit('provider.yaml', 'provider-credential: "true"', 'provider-credential: true'),
      /^problem {2}provider\.yaml:9: Secret default\/simulator-keys: metadata\.labels\.penstock\.dev\/provider-credential: must be a string; put it in quotes$/,
    ],
    [
      'a Secret whose data is not base64',
      (local) => local.edit('provider.yaml', 'stringData:', `data:\n  third: ${secretKey}\nstringData:`),
      /^problem {2}provider\.yaml:13: Secret default\/simulator-keys: data\.third: must be base64/,
    ],
    ...(
      [
        ['stringDate: { third: KEY }', 'stringDate: unknown field; did you mean stringData?'],
        [
          'spec: { third: KEY }',
          'spec: unknown field; known here: apiVersion, kind, metadata, type, data, stringData, immutable',
        ],
        ['data: KEY', 'data: must be an object of names and strings, such as data: { name: value }'],
        ['data: [KEY]', 'data: must be an object of names and strings, such as data: { name: value }'],
        ['type: [KEY]', 'type: must be a string; put it in quotes'],
        ['immutable: KEY', 'immutable: must be true or false'],
      ] as const
    ).map(([member, reported]): [string, (local: LocalRig) => Promise<void>, RegExp] => [
      `a Secret with ${member}`,
      (local) =>
        local.edit('provider.yaml', 'stringData:', `${member.replace('KEY', secretKey)}\nstringData:`),
      new RegExp(
        `^problem {2}provider\\.yaml:12: Secret default/simulator-keys: ${RegExp.escape(reported)}$`,
      ),
    ]),
    ...['KEY', '[KEY]'].map((value): [string, (local: LocalRig) => Promise<void>, RegExp] => [
      `a Secret with stringData: ${value}`,
      (local) =>
        local.edit(
          'provider.yaml',
          /stringData:\n {2}first: .*\n {2}second: .*/,
          `stringData: ${value.replace('KEY', secretKey)}`,
        ),
      /^problem {2}provider\.yaml:12: Secret default\/simulator-keys: stringData: must be an object of names and strings, such as stringData: \{ name: value \}$/,
    ]),
    [
      'a file that nests without an end',
      (local) => local.write('bomb.yaml', `a:\n  - ${'['.repeat(500_000)}\n`),
      /^problem {2}bomb\.yaml:2: nested more than 100 levels deep and was not read; flatten it$/,
    ],
    [
      'a file that nests without brackets',
      (local) => local.write('bomb.yaml', `${'- '.repeat(500_000)}\n`),
      /^problem {2}bomb\.yaml:1: nested more than 100 levels deep/,
    ],
    [
      'a file that is too large',
      (local) => local.write('bomb.yaml', `# ${'x'.repeat(1_048_576)}\n`),
      /^problem {2}bomb\.yaml: is larger than 1048576 bytes \(1 MiB\) and was not read; split it into several files$/,
    ],
    [
      'a file in another encoding',
      (local) => writeFile(join(local.manifests, 'latin1.yaml'), Buffer.from('# f\u00fcr alle\n', 'latin1')),
      /^problem {2}latin1\.yaml: is not UTF-8 and was not read; save it as UTF-8$/,
    ],
    [
      'a Secret that does not parse',
      (local) => local.edit('provider.yaml', 'first: sk-simulator-first', `first: "${secretKey}`),
      /^problem {2}provider\.yaml:\d+:\d+: /,
    ],
    [
      'a Provider whose Secret is gone',
      (local) => local.edit('provider.yaml', 'name: simulator-keys\n', 'name: other-keys\n'),
      /^problem {2}provider\.yaml:\d+: Provider default\/first: .*simulator-keys/,
    ],
    [
      'an address that may not be reached',
      (local) => local.edit('provider.yaml', /baseURL: http:\S+/, 'baseURL: http://169.254.169.254/v1'),
      /^problem {2}provider\.yaml:24: Provider default\/first: spec\.baseURL/,
    ],
    [
      'a model id that another route holds',
      (local) => local.edit('routes.yaml', 'model: penstock/failover', 'model: penstock/small'),
      /^problem {2}routes\.yaml:\d+: ModelRoute default\/\w+: the model id "penstock\/small" belongs to/,
    ],
  ])(
    '%s is reported, and the last good table serves; the next good edit is live',
    async (_what, spoil, reported) => {
      await spoil(local);
      const problem = await local.next(/^problem/);
      expect(problem).toMatch(reported);
      await local.next(/^Not applied: the last good manifests stay live\.$/);
      expect((await local.ask('penstock/small')).status).toBe(200);
      expect((await local.ask('penstock/failover')).status).toBe(200);
      expect(local.printed.join('\n')).not.toContain(secretKey);

      await Promise.all(
        ['bomb', 'latin1', 'list', 'twice'].map((name) =>
          rm(join(local.manifests, `${name}.yaml`), { force: true }),
        ),
      );
      await copyQuickstart(local, local.upstream.port);
      await local.next(/^(Repaired|Live)/);
      await local.edit('routes.yaml', 'model: penstock/small', 'model: penstock/tiny');
      await local.next(/^Live/);
      expect((await local.ask('penstock/tiny')).status).toBe(200);
      await local.edit('routes.yaml', 'model: penstock/tiny', 'model: penstock/small');
      await local.next(/^Live/);
    },
  );
});

describe('every error is reported once, with a message that fits a laptop', () => {
  /** The problems of an edit, without their places. */
  async function problemsOf(local: LocalRig): Promise<readonly string[]> {
    await local.next(/^Not applied/);
    return local.printed.flatMap((line) => /^problem {2}\S+: (.*)$/.exec(line)?.[1] ?? []);
  }

  test('a Provider that is not accepted: one line about it, and one about each route without another', async () => {
    const local = await start();
    await local.edit('routes.yaml', /\n {4}- name: spare\n.*\n.*\n.*\n---/, '\n---');
    await local.next(/^Live/);
    await local.edit('provider.yaml', 'displayName: The first simulated', 'displayNam: The first simulated');
    expect(await problemsOf(local)).toEqual([
      'Provider default/first: spec.displayNam: unknown field; did you mean displayName?',
      'ModelRoute default/small: no target can be used: target main names Provider first, which cannot be used ' +
        '(Invalid); fix that object first',
    ]);
  });

  test('a route whose targets fail for different reasons: one line', async () => {
    const local = await start();
    await local.edit('routes.yaml', 'providerRef: { name: first }', 'providerRef: { name: gone }');
    await local.next(/^Not applied/);
    await local.edit('routes.yaml', 'providerRef: { name: second }', 'providerRef: { name: away }');
    await local.next(/no target can be used/);
    await local.next(/^Not applied/);
    const said = local.printed.filter(
      (line) => line.includes('ModelRoute default/small') && line.includes('away'),
    );
    expect(said).toHaveLength(1);
  });
});

describe('an object that is wrong from the start', () => {
  const wrong = `apiVersion: penstock.dev/v1alpha1
kind: ModelRoute
metadata: { name: wrong }
spec:
  model: penstock/wrong
  targets: []
`;

  test('is left out alone, does not hold later edits back, and may move to another line', async () => {
    const local = await start({
      async prepare(folders, upstream) {
        await copyQuickstart(folders, upstream.port);
        await folders.write('wrong.yaml', wrong);
      },
    });
    expect(local.printed[0]).toMatch(
      /^problem {2}wrong\.yaml:6: ModelRoute default\/wrong: spec\.targets: must have at least 1 entries$/,
    );
    expect((await local.ask('penstock/small')).status).toBe(200);
    await local.write('wrong.yaml', `# Moved\n\n${wrong}`);
    await local.edit('routes.yaml', 'model: penstock/small', 'model: penstock/tiny');
    expect(await local.next(/^problem|^Not applied/)).toMatch(/^problem {2}wrong\.yaml:8: /);
    expect(await local.next(/^Live|^Not applied/)).toMatch(/^Live: generation 2, 2 models\./);
    expect((await local.ask('penstock/tiny')).status).toBe(200);
  });
});

describe('the folder', () => {
  test('may be removed and return: the last good table serves, and edits are noticed again', async () => {
    const local = await start();
    await rename(local.manifests, `${local.manifests}-away`);
    expect(await local.next(/^problem/)).toMatch(/^problem {2}The manifests folder '.*' does not exist\. /);
    expect((await local.ask('penstock/small')).status).toBe(200);
    // Whole, as a checkout of another branch that nobody saw in the making.
    const others = await makeFolders();
    onTestFinished(others.remove);
    await copyQuickstart(others, local.upstream.port);
    await rename(others.manifests, local.manifests);
    await local.next(/^Repaired/);
    await local.edit('routes.yaml', 'model: penstock/small', 'model: penstock/tiny');
    await local.next(/^Live/);
    expect((await local.ask('penstock/tiny')).status).toBe(200);
  });

  test('may be empty at the start; added files are served', async () => {
    const local = await start({ prepare: () => Promise.resolve() });
    expect(local.printed.join('\n')).toContain('the manifests need a Provider, a ModelRoute and an ApiKey');
    expect(await local.models()).toEqual([]);
    await copyQuickstart(local, local.upstream.port);
    await local.next(/ 2 models\./);
    expect(await local.models()).toEqual(['penstock/failover', 'penstock/small']);
  });
});

describe('time', () => {
  test('a model was created when its file was first read, and an edit makes it no younger', async () => {
    const createdAt = Date.parse('2026-03-04T05:06:07Z') / 1000;
    const local = await start({
      async prepare(folders, upstream) {
        await copyQuickstart(folders, upstream.port);
        await utimes(join(folders.manifests, 'routes.yaml'), createdAt, createdAt);
      },
    });
    await local.edit('routes.yaml', 'displayName: Small', 'displayName: Tiny');
    await local.next(/^Live/);
    expect((await stat(join(local.manifests, 'routes.yaml'))).mtimeMs).toBeGreaterThan(createdAt * 1000);
    const models = await describeModels(local.url);
    expect(models.map(({ created }) => created)).toEqual([createdAt, createdAt]);
  });

  test('a key that expires stops at its time, with a line before and after', async () => {
    const local = await start();
    const expiresAt = new Date(Date.now() + 1_500).toISOString();
    await local.edit('key.yaml', 'spec:', `spec:\n  expiresAt: "${expiresAt}"`);
    expect(await local.next(/^note/)).toContain(
      `key.yaml:9: ApiKey default/quickstart: expires at ${expiresAt}`,
    );
    await local.next(/^Live/);
    expect((await local.ask('penstock/small')).status).toBe(200);
    expect(await local.next(/^note/)).toContain(`ApiKey default/quickstart: expired at ${expiresAt}`);
    expect((await local.ask('penstock/small')).status).toBe(401);
  });
});
