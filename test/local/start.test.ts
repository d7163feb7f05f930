// Starting and ending: what is said, what is kept, and what keeps it from starting.

import { once } from 'node:events';
import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../core/clock.ts';
import { createPressCounter } from '../../local/count-presses.ts';
import { explainStart } from '../../local/explain-start.ts';
import { createManifestReader } from '../../local/manifest-reader.ts';
import { readSettings } from '../../local/settings.ts';
import { startLocal } from '../../local/start.ts';
import { parseApiKey } from '../../operator/resources/api-key.ts';
import { parseModelRoute } from '../../operator/resources/model-route.ts';
import { parseProvider } from '../../operator/resources/provider.ts';
import { openRaw, writeRequest } from '../support/raw-client.ts';
import {
  copyQuickstart,
  type Folders,
  makeFolders,
  makePages,
  quickstart,
  settingsFor,
  startLocalRig,
} from './rig.ts';

const stack: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const close of stack.splice(0).reverse()) await close();
});

async function start(options?: Parameters<typeof startLocalRig>[0]) {
  const rig = await startLocalRig(options);
  stack.push(rig.close);
  return rig;
}

async function folders(): Promise<Folders> {
  const made = await makeFolders();
  stack.push(made.remove);
  return made;
}

/** @returns a port that another program has. */
async function takePort(): Promise<number> {
  const other = createServer().listen(0, '127.0.0.1');
  stack.push(() => new Promise((resolve) => other.close(() => resolve())));
  await once(other, 'listening');
  const address = other.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
}

describe('the quickstart manifests', () => {
  test('are what the operator accepts, object by object', async () => {
    const manifests = await createManifestReader(quickstart, systemClock).now();
    const parsed = [
      ...manifests.providers.map(parseProvider),
      ...manifests.modelRoutes.map(parseModelRoute),
      ...manifests.apiKeys.map(parseApiKey),
    ];
    expect(parsed.filter(({ ok }) => !ok)).toEqual([]);
    expect(parsed).toHaveLength(6);
    expect([...manifests.problems, ...manifests.notes]).toEqual([]);
  });

  test('are served without a problem, as documented', async () => {
    const rig = await start();
    expect(rig.printed).toHaveLength(1);
    expect(rig.printed[0]).toContain('models     penstock/small, penstock/failover\n');
    expect(await rig.models()).toEqual(['penstock/failover', 'penstock/small']);
    expect(await rig.models(rig.key)).toEqual(['penstock/failover', 'penstock/small']);
    expect(await rig.ask('penstock/small')).toMatchObject({ status: 200, attempts: '1' });
    expect(await rig.ask('penstock/failover')).toMatchObject({ status: 200, attempts: '2' });
  });

  test('follow a simulator that listens on another port than they name', async () => {
    const rig = await start({ prepare: (made) => copyQuickstart(made, 9100) });
    expect(rig.printed).toHaveLength(1);
    expect(await rig.ask('penstock/small')).toMatchObject({ status: 200, attempts: '1' });
    expect(await rig.ask('penstock/failover')).toMatchObject({ status: 200, attempts: '2' });
    await rig.edit('routes.yaml', 'model: penstock/small', 'model: penstock/tiny');
    await rig.next(/^Live/);
    expect(await rig.ask('penstock/tiny')).toMatchObject({ status: 200, attempts: '1' });
  });

  test('does not change a Provider of your own: its server may use that port, and the last lines say so', async () => {
    const rig = await start({
      async prepare(made) {
        await copyQuickstart(made, 9100);
        await made.edit('provider.yaml', 'name: second', 'name: mine');
      },
    });
    const { port } = rig.local.simulator;
    expect(rig.printed.at(-1)?.split('\n').slice(-2)).toEqual([
      `The simulator listens on port ${port}. If mine should reach it, write ${port} in place of 9100 in their baseURL and in penstock.dev/allowed-hosts of their Secret.`,
      'Ctrl-C ends it.',
    ]);
  });
});

describe('the first start', () => {
  test('copies the quickstart to a folder of your own, and a later one leaves your edits as they are', async () => {
    const made = await folders();
    const manifestsFolder = join(made.state, '..', 'mine');
    const settings = settingsFor(made, { manifestsFolder, quickstartFolder: quickstart });
    const lines: string[] = [];
    const first = await startLocal(settings, (line) => lines.push(line));
    await first.close();
    expect(lines[0]).toBe(
      `Copied ${quickstart} to ${manifestsFolder}. Edit the files there; Git ignores them.`,
    );
    expect(await readdir(manifestsFolder)).toEqual(await readdir(quickstart));
    await writeFile(join(manifestsFolder, 'key.yaml'), '# mine\n');
    const later: string[] = [];
    const second = await startLocal(settings, (line) => later.push(line));
    await second.close();
    expect(later.join('\n')).not.toContain('Copied');
    expect(await readFile(join(manifestsFolder, 'key.yaml'), 'utf8')).toBe('# mine\n');
  });

  test('ends with the summary: a terminal of 24 lines shows it, and two snippets before it', async () => {
    const rig = await start();
    const lines = rig.printed.at(-1)?.split('\n') ?? [];
    expect(lines.length).toBeLessThanOrEqual(24);
    expect(lines.filter((line) => line.startsWith('---'))).toHaveLength(2);
    expect(lines.at(-1)).toBe('Ctrl-C ends it.');
    expect(lines.findIndex((line) => line.startsWith('Penstock serves'))).toBeGreaterThan(10);
  });
});

describe('the printed snippets', () => {
  test('name a model that answers, not the first one if its provider is down', async () => {
    const rig = await start({
      async prepare(made, { port }) {
        await copyQuickstart(made, port);
        await made.edit('routes.yaml', 'name: second }', 'name: first }');
        // Nothing listens there.
        await made.edit('provider.yaml', `baseURL: http://127.0.0.1:${port}`, 'baseURL: http://127.0.0.1:1');
        const own = `allowed-hosts: 127.0.0.1:${port}`;
        await made.edit('provider.yaml', own, `${own},127.0.0.1:1`);
      },
    });
    const welcome = rig.printed.at(-1) ?? '';
    expect(welcome).toContain('models     penstock/small, penstock/failover\n');
    expect(welcome).toContain('"model":"penstock/failover"');
    expect((await rig.ask('penstock/failover')).status).toBe(200);
    expect((await rig.ask('penstock/small')).status).toBe(502);
  });

  test('name the first model where none answers', async () => {
    const rig = await start({ prepare: (made) => copyQuickstart(made, 1) });
    expect(rig.printed.at(-1)).toContain('"model":"penstock/small"');
  });
});

describe('the printed key', () => {
  test('is the same after a restart, and other people of the machine cannot read it', async () => {
    const first = await startLocalRig();
    const { key, state } = first;
    try {
      expect((await first.ask('penstock/small')).status).toBe(200);
      const path = join(state, 'keys', 'default', 'quickstart');
      expect(await readFile(path, 'utf8')).toBe(`${key}\n`);
      expect((await stat(path)).mode & 0o777).toBe(0o600);
      for (const folder of [state, join(state, 'keys'), join(state, 'keys', 'default')]) {
        expect((await stat(folder)).mode & 0o777).toBe(0o700);
      }
      const journal = join(state, 'journal', 'journal.jsonl');
      await first.local.close();
      expect((await stat(journal)).mode & 0o077).toBe(0);
      expect(await readFile(journal, 'utf8')).toContain('penstock/small');

      const lines: string[] = [];
      const second = await startLocal(settingsFor(first), (line) => lines.push(line));
      await second.close();
      expect(lines.join('\n')).toContain(`key        ${key} (default/quickstart)\n`);
    } finally {
      await first.close();
    }
  });

  test('is the same in two instances that share a folder, also when both make it at once', async () => {
    const made = await folders();
    const upstream = await start({ prepare: () => Promise.resolve() });
    await copyQuickstart(made, upstream.upstream.port);
    const [one, two] = await Promise.all([start({ folders: made }), start({ folders: made })]);
    expect(two.key).toBe(one.key);
    expect((await one.ask('penstock/small', two.key)).status).toBe(200);
    expect((await two.ask('penstock/small', one.key)).status).toBe(200);
    expect(await readdir(join(made.state, 'keys', 'default'))).toEqual(['quickstart']);
  });

  const apiKey = (name: string, spec: string) =>
    `---\napiVersion: penstock.dev/v1alpha1\nkind: ApiKey\nmetadata: { name: ${name} }\nspec: ${spec}\n`;

  // Files are read in the order of their names: bot.yaml comes before key.yaml.
  test.each([
    ['of another namespace', apiKey('bot, namespace: team-a', '{}')],
    ['of the same namespace', apiKey('bot', '{}')],
  ])('stays that of the quickstart after a restart where a key %s was added', async (_of, added) => {
    const rig = await start({
      async prepare(made, upstream) {
        await copyQuickstart(made, upstream.port);
        await made.write('bot.yaml', added);
      },
    });
    const summary = rig.printed.at(-1);
    expect(summary).toContain(`  key        ${rig.key} (default/quickstart)\n`);
    expect(summary).toContain(`Bearer ${rig.key}'`);
    expect(summary).toContain('  models     penstock/small, penstock/failover\n');
    expect((await rig.ask('penstock/small')).status).toBe(200);
  });

  test('has no limits, and is of the namespace default if the quickstart has none', async () => {
    const rig = await start({
      async prepare(made, upstream) {
        await copyQuickstart(made, upstream.port);
        await made.edit('key.yaml', 'name: quickstart', 'name: spare');
        await made.write(
          'all.yaml',
          apiKey('bot, namespace: team-a', '{}') + apiKey('limited', '{ limits: { requestsPerMinute: 1 } }'),
        );
      },
    });
    expect(rig.printed.at(-1)).toContain(`  key        ${rig.key} (default/spare)\n`);
  });

  test('can call the printed model, and the summary lists the models of that key', async () => {
    const rig = await start({
      async prepare(made, upstream) {
        await copyQuickstart(made, upstream.port);
        const keys = [
          apiKey('disabled', '{ disabled: true }'),
          apiKey('ended', '{ expiresAt: "2020-01-01T00:00:00Z" }'),
          apiKey('nothing', '{ models: { deny: ["*"] } }'),
          apiKey('one', '{ models: { allow: [penstock/failover] }, secret: { key: token } }'),
        ];
        await made.write('key.yaml', keys.join(''));
      },
    });
    expect(rig.printed.at(-1)).toContain('"model":"penstock/failover"');
    expect(rig.printed.at(-1)).toContain('  models     penstock/failover\n');
    expect((await rig.ask('penstock/failover')).status).toBe(200);
    expect((await rig.ask('penstock/small')).status).toBe(404);
  });

  test('is that of the manifests if they contain its Secret', async () => {
    const donor = await start();
    const rig = await start({
      async prepare(made, upstream) {
        await copyQuickstart(made, upstream.port);
        await made.write(
          'secret.yaml',
          `apiVersion: v1\nkind: Secret\nmetadata:\n  name: quickstart-key\n  labels: { penstock.dev/api-key: quickstart }\n` +
            `data: { apiKey: ${Buffer.from(donor.key).toString('base64')} }\n`,
        );
      },
    });
    expect(rig.key).toBe(donor.key);
    expect((await rig.ask('penstock/small')).status).toBe(200);
  });
});

describe('an error at the start is one sentence', () => {
  test('a manifests folder that is not there, or is a file', async () => {
    const made = await folders();
    const missing = join(made.manifests, 'no-such-folder');
    const settings = settingsFor(made, { manifestsFolder: missing });
    await expect(startLocal(settings, () => {})).rejects.toThrow(
      `The manifests folder '${missing}' does not exist. Set PENSTOCK_MANIFESTS to the folder of your YAML files.`,
    );
    await made.write('file', '');
    const file = join(made.manifests, 'file');
    await expect(startLocal({ ...settings, manifestsFolder: file }, () => {})).rejects.toThrow(
      `'${file}' is a file, not a folder. Set PENSTOCK_MANIFESTS to the folder of your YAML files.`,
    );
  });

  test('a state folder that cannot be made', async () => {
    const made = await folders();
    await made.write('file', '');
    const settings = settingsFor(made, { stateFolder: join(made.manifests, 'file', 'state') });
    await expect(startLocal(settings, () => {})).rejects.toThrow(
      /Set PENSTOCK_STATE_DIR to another folder\.$/,
    );
  });

  test.each([
    ['PENSTOCK_PORT', 'port'],
    ['PENSTOCK_METRICS_PORT', 'metricsPort'],
    ['PENSTOCK_SIMULATOR_PORT', 'simulatorPort'],
    ['PENSTOCK_DASHBOARD_PORT', 'dashboardPort'],
  ] as const)('the port of %s, which another program has', async (variable, field) => {
    const made = await folders();
    await makePages(made);
    const taken = await takePort();
    const settings = settingsFor(made, { [field]: taken });
    const failed = await startLocal(settings, () => {}).then(
      () => undefined,
      (error: unknown) => explainStart(error, settings),
    );
    expect(failed).toBe(`Port ${taken} is in use by another program. Set ${variable} to a free port.`);
  });

  test('several ports that other programs have, and nothing is copied before', async () => {
    const made = await folders();
    const manifestsFolder = join(made.state, '..', 'mine');
    const [first, second, third] = [await takePort(), await takePort(), await takePort()];
    const ports = { port: first, simulatorPort: second, dashboardPort: third };
    const settings = settingsFor(made, { ...ports, manifestsFolder, quickstartFolder: quickstart });
    const lines: string[] = [];
    await expect(startLocal(settings, (line) => lines.push(line))).rejects.toThrow(
      `Ports ${first}, ${second} and ${third} are in use by other programs. Set PENSTOCK_PORT, PENSTOCK_SIMULATOR_PORT and PENSTOCK_DASHBOARD_PORT to free ports.`,
    );
    expect(lines).toEqual([]);
    await expect(stat(manifestsFolder)).rejects.toThrow('ENOENT');
  });

  test('a stored key that is malformed', async () => {
    const rig = await startLocalRig();
    try {
      await rig.local.close();
      const path = join(rig.state, 'keys', 'default', 'quickstart');
      await writeFile(path, `${rig.key.slice(0, -1)}\n`);
      await expect(startLocal(settingsFor(rig), () => {})).rejects.toThrow(
        `${path} holds no key. Delete the file; a new key is made at the next start.`,
      );
    } finally {
      await rig.close();
    }
  });
});

describe('settings', () => {
  test('unset or empty variables have the defaults', () => {
    const defaults = {
      port: 8080,
      metricsPort: 9090,
      simulatorPort: 9100,
      dashboardPort: 8081,
      pagesFolder: 'dist/dashboard',
      manifestsFolder: 'manifests',
      quickstartFolder: 'docs/examples/quickstart',
      stateFolder: '.penstock',
      requestLines: true,
      openAi: { apiKey: undefined, baseUrl: undefined },
      anthropic: { apiKey: undefined, baseUrl: undefined },
      gemini: { apiKey: undefined },
      identity: {},
      clouds: {},
    };
    expect(readSettings({})).toEqual(defaults);
    expect(readSettings({ PENSTOCK_PORT: '', OPENAI_API_KEY: ' ', PENSTOCK_MANIFESTS: '' })).toEqual(
      defaults,
    );
  });

  test.each([
    [{ PENSTOCK_PORT: 'http' }, 'PENSTOCK_PORT must be a port number from 0 (any free one) to 65535.'],
    [{ PENSTOCK_METRICS_PORT: '70000' }, 'PENSTOCK_METRICS_PORT must be a port number'],
    [{ PENSTOCK_SIMULATOR_PORT: '-1' }, 'PENSTOCK_SIMULATOR_PORT must be a port number'],
    [{ PENSTOCK_DASHBOARD_PORT: '1.5' }, 'PENSTOCK_DASHBOARD_PORT must be a port number'],
    [{ PENSTOCK_PORT: '1', PENSTOCK_METRICS_PORT: 'x' }, 'PENSTOCK_METRICS_PORT must be'],
    [
      { PENSTOCK_PORT: '9100' },
      'PENSTOCK_PORT and PENSTOCK_SIMULATOR_PORT are both 9100; set one of them to another port.',
    ],
    [{ OPENAI_API_KEY: 'sk-one\nsk-two' }, 'OPENAI_API_KEY has a character that is not valid in a key'],
    [{ ANTHROPIC_API_KEY: 'sk-“quoted”' }, 'ANTHROPIC_API_KEY has a character that is not valid in a key'],
  ])('%j is refused with the remedy, and without its value', (environment, sentence) => {
    expect(() => readSettings(environment)).toThrow(sentence);
    expect(() => readSettings(environment)).not.toThrow(/sk-/);
  });

  test('any free port may be asked for three times', () => {
    const ports = { PENSTOCK_PORT: '0', PENSTOCK_METRICS_PORT: '0', PENSTOCK_SIMULATOR_PORT: '0' };
    expect(readSettings(ports)).toMatchObject({ port: 0, metricsPort: 0, simulatorPort: 0 });
  });
});

describe('ending', () => {
  test.each([
    ['one signal', [1_000], 1],
    ['npm passing on what the terminal has sent already', [1_000, 1_003], 1],
    ['a second press', [1_000, 1_400], 2],
    ['both, twice', [1_000, 1_003, 1_400, 1_402], 2],
    ['a third press', [1_000, 1_400, 2_000], 3],
  ])('of signals, presses are counted: %s', (_what, signalsMs, presses) => {
    const count = createPressCounter();
    expect(signalsMs.map(count).at(-1)).toBe(presses);
  });

  test('a running stream is reported, and everything is closed', async () => {
    const rig = await start();
    rig.upstream.script('sim-small', 'fault=stall-after:2');
    const connection = await openRaw({ port: Number(new URL(rig.url).port) });
    await connection.send(
      writeRequest({
        path: '/v1/chat/completions',
        headers: { authorization: `Bearer ${rig.key}` },
        body: { model: 'penstock/small', stream: true, messages: [{ role: 'user', content: 'Hello' }] },
      }),
    );
    const answer = await connection.answer();
    await answer.nextEvent();
    const closed = rig.local.close();
    rig.local.gateway.hurry();
    const { text } = await answer.finished;
    await closed;
    connection.close();
    expect(text).toContain('server_shutting_down');
    expect(text).not.toContain('[DONE]');
    await expect(fetch(rig.url)).rejects.toThrow();
    await expect(fetch(rig.local.simulator.url)).rejects.toThrow();
    await expect(fetch(rig.local.gateway.metricsUrl)).rejects.toThrow();
  });
});
