// Real providers out of the environment: added from one listing, refused with a sentence, never in the way.

import { afterEach, describe, expect, test, vi } from 'vitest';
import { readEnvironmentProviders } from '../../local/environment-providers.ts';
import { isOwnAddress } from '../../local/own-address.ts';
import { parseProvider } from '../../operator/resources/provider.ts';
import { type Simulator, startSimulator } from '../../simulator/server.ts';
import { copyQuickstart, freePorts, type LocalRig, makeFolders, settingsFor, startLocalRig } from './rig.ts';

const stack: { close(): Promise<void> }[] = [];

afterEach(async () => {
  for (const each of stack.splice(0).reverse()) await each.close();
});

const key = 'sk-environment-secret';

async function start(
  openAi: { apiKey?: string; baseUrl?: string },
  options: Partial<Parameters<typeof startLocalRig>[0]> = {},
): Promise<LocalRig> {
  const settings = { openAi: { apiKey: openAi.apiKey, baseUrl: openAi.baseUrl } };
  const rig = await startLocalRig({ ...options, settings: { ...settings, ...options.settings } });
  stack.push(rig);
  return rig;
}

async function startVendor(models: string[]): Promise<Simulator> {
  const vendor = await startSimulator({
    models,
    keys: { [key]: { behaviour: 'accepted' } },
    onlyKnownKeys: true,
  });
  stack.push(vendor);
  return vendor;
}

describe('a provider of the environment', () => {
  test('adds a route for every model of its listing, which answers with its key', async () => {
    const vendor = await startVendor(['gpt-one', 'org/two:free']);
    const rig = await start({ apiKey: key, baseUrl: `${vendor.url}/v1/` });
    expect(rig.printed[0]).toBe(`openai: 2 models of ${new URL(vendor.url).host} as openai/…`);
    const listed = ['openai/gpt-one', 'openai/org/two:free'];
    expect(await rig.models(rig.key)).toEqual(expect.arrayContaining(listed));
    expect((await rig.ask('openai/gpt-one')).text).toContain('speaking as gpt-one');
    expect((await rig.ask('openai/org/two:free')).status).toBe(200);
    // Paid with the key of this terminal: not for everybody who can reach the port.
    expect(await rig.models()).toEqual(['penstock/failover', 'penstock/small']);
    expect((await rig.ask('openai/gpt-one', '')).status).toBe(401);
    expect(rig.printed.join('\n')).not.toContain(key);
  });

  test('needs no key if its address requires none', async () => {
    const vendor = await startSimulator({ models: ['local'] });
    stack.push(vendor);
    const rig = await start({ baseUrl: `${vendor.url}/v1` });
    expect((await rig.ask('openai/local')).status).toBe(200);
  });

  test.each(['', '/v1', '/v1/'])('of Anthropic is called in Messages (base URL + "%s")', async (path) => {
    const vendor = await startVendor(['claude-one']);
    const anthropic = { apiKey: key, baseUrl: `${vendor.url}${path}` };
    const rig = await start({}, { settings: { anthropic } });
    expect(rig.printed[0]).toBe(`anthropic: 1 model of ${new URL(vendor.url).host} as anthropic/…`);
    expect((await rig.ask('anthropic/claude-one')).status).toBe(200);
    const call = vendor.calls().at(-1);
    expect(call?.endpoint).toBe('/v1/messages');
    expect(call?.headers['x-api-key']).toMatch(/^sha256:/);
    expect(call?.headers.authorization).toBeUndefined();
  });

  test.each([
    ['openAi', 'OpenAI', 'https://api.openai.com/v1'],
    ['anthropic', 'Anthropic', 'https://api.anthropic.com/v1'],
    ['gemini', 'Gemini', 'https://generativelanguage.googleapis.com/v1beta'],
  ] as const)('of %s at its own address is of the type %s', async (name, type, baseURL) => {
    const models = [
      { name: 'models/one', supportedGenerationMethods: ['generateContent', 'countTokens'] },
      { name: 'models/vectors', supportedGenerationMethods: ['embedContent'] },
    ];
    const fetched = vi.spyOn(globalThis, 'fetch').mockImplementation(async () => {
      return Response.json(type === 'Gemini' ? { models } : { data: [{ id: 'one' }] });
    });
    try {
      const folders = await makeFolders();
      stack.push({ close: folders.remove });
      const settings = settingsFor(folders, { [name]: { apiKey: key, baseUrl: undefined } });
      const { manifests } = await readEnvironmentProviders(settings, 8080, 0);
      expect(manifests.providers.map(({ spec }) => spec)).toMatchObject([{ type, baseURL }]);
      expect(manifests.providers.map((provider) => parseProvider(provider).ok)).toEqual([true]);
      expect(manifests.modelRoutes.map(({ spec }) => spec)).toMatchObject([
        { model: `${name.toLowerCase()}/one` },
      ]);
      expect(fetched.mock.calls.map(([url]) => String(url).startsWith(`${baseURL}/models`))).toEqual([true]);
    } finally {
      fetched.mockRestore();
    }
  });

  test('gives way to the manifests for the same model', async () => {
    const vendor = await startVendor(['gpt-one', 'gpt-two']);
    const rig = await start(
      { apiKey: key, baseUrl: `${vendor.url}/v1` },
      {
        async prepare(folders, upstream) {
          await copyQuickstart(folders, upstream.port);
          await folders.edit('routes.yaml', 'model: penstock/small', 'model: openai/gpt-one');
        },
      },
    );
    expect((await rig.ask('openai/gpt-one')).text).toContain('speaking as sim-small');
    expect((await rig.ask('openai/gpt-two')).text).toContain('speaking as gpt-two');
    expect(rig.printed.filter((line) => line.startsWith('problem'))).toEqual([]);
  });

  test('that the gateway may not reach is reported, and holds no edit back', async () => {
    const vendor = await startVendor(['gpt-one']);
    // Connecting there works on a laptop, and is refused all the same: it is no address.
    const rig = await start({ apiKey: key, baseUrl: `http://0.0.0.0:${vendor.port}/v1` });
    expect(rig.printed[1]).toMatch(/^note {5}Provider default\/openai: spec\.baseURL/);
    expect((await rig.ask('openai/gpt-one')).status).toBe(503);
    await rig.edit('routes.yaml', 'model: penstock/small', 'model: penstock/tiny');
    expect(await rig.next(/^Live|^Not applied/)).toMatch(/^Live/);
  });

  test('with a slow listing does not delay the others, and is added when it arrives', async () => {
    const vendor = await startVendor(['gpt-one']);
    // Longer than a start waits for it, by more than everything else of a start.
    vendor.script('/v1/models', 'delay=3500');
    const rig = await start({ apiKey: key, baseUrl: `${vendor.url}/v1` });
    expect(rig.printed[0]).toContain('Penstock serves 2 models');
    expect(await rig.next(/^openai/)).toMatch(/^openai: 1 model/);
    await rig.next(/^Live/);
    expect((await rig.ask('openai/gpt-one')).status).toBe(200);
  });
});

describe('a listing that fails is a note, and the rest starts', () => {
  test.each<[string, string, RegExp]>([
    [
      'no address',
      'not an address',
      /^openai is not served: OPENAI_BASE_URL must be an absolute http or https address/,
    ],
    [
      'no scheme',
      'localhost:8080/v1',
      /^openai is not served: OPENAI_BASE_URL must be an absolute http or https address/,
    ],
    [
      'a password in it',
      `https://me:${key}@127.0.0.1/v1`,
      /^openai is not served: OPENAI_BASE_URL must be .* without query, fragment or user info\.$/,
    ],
    ['a query', `https://127.0.0.1/v1?key=${key}`, /^openai is not served: OPENAI_BASE_URL must be/],
    ['a key in its place', key, /^openai is not served: OPENAI_BASE_URL must be/],
  ])('%s', async (_what, baseUrl, note) => {
    const rig = await start({ apiKey: key, baseUrl });
    expect(rig.printed[0]).toMatch(note);
    expect(rig.printed.join('\n')).not.toContain(key);
    expect((await rig.ask('penstock/small')).status).toBe(200);
  });

  test('no server listens', async () => {
    const [port] = await freePorts(1);
    const rig = await start({ apiKey: key, baseUrl: `http://127.0.0.1:${port}/v1` });
    expect(rig.printed[0]).toMatch(
      /^openai is not served: its models could not be listed from 127\.0\.0\.1:\d+: .*ECONNREFUSED.*\.$/,
    );
    expect((await rig.ask('penstock/small')).status).toBe(200);
  });

  test('an unknown key', async () => {
    const vendor = await startVendor(['gpt-one']);
    const rig = await start({ apiKey: 'sk-wrong-secret', baseUrl: `${vendor.url}/v1` });
    const { host } = new URL(vendor.url);
    expect(rig.printed[0]).toBe(
      `openai is not served: its models could not be listed from ${host}: it answered 401.`,
    );
    expect(rig.printed.join('\n')).not.toContain('sk-wrong-secret');
  });

  test('a key of this gateway is not sent to a vendor', async () => {
    const rig = await start({ apiKey: `psk_${'a'.repeat(49)}` });
    expect(rig.printed[0]).toBe(
      'openai is not served: OPENAI_API_KEY is a key of a Penstock gateway, not of openai. Unset it in this terminal.',
    );
  });
});

describe('an address that is this gateway itself', () => {
  test.each([
    ['http://localhost:8080/v1', true],
    ['http://LOCALHOST:8080', true],
    ['http://localhost.:8080/v1/', true],
    ['http://penstock.localhost:8080/v1', true],
    ['http://127.0.0.1:8080/v1', true],
    ['http://127.0.0.1:8080', true],
    ['http://127.1:8080/v1', true],
    ['http://127.0.0.53:8080/v1', true],
    ['http://2130706433:8080/v1', true],
    ['http://[::1]:8080/v1', true],
    ['http://[::]:8080/v1', true],
    ['http://[::ffff:127.0.0.1]:8080/v1', true],
    ['http://0.0.0.0:8080/v1', true],
    ['https://localhost:8080/v1', true],
    ['http://localhost:8081/v1', false],
    ['http://localhost/v1', false],
    ['http://192.168.0.5:8080/v1', false],
    ['http://localhost.example.com:8080/v1', false],
    ['https://api.openai.com/v1', false],
  ])('%s: %s', (url, isOwn) => {
    expect(isOwnAddress(new URL(url), 8080)).toBe(isOwn);
  });

  test.each(['http://localhost', 'https://[::1]'])('the port of %s is that of its scheme', (url) => {
    expect(isOwnAddress(new URL(url), url.startsWith('https') ? 443 : 80)).toBe(true);
  });

  test('is refused with a message, and the gateway starts without it', async () => {
    const [port] = await freePorts(1);
    const rig = await start({ apiKey: key, baseUrl: `http://localhost:${port}/v1` }, { settings: { port } });
    expect(rig.printed[0]).toBe(
      'openai is not served: OPENAI_BASE_URL is the address of this gateway. ' +
        'Unset the variable in this terminal: only clients need it.',
    );
    expect((await rig.ask('penstock/small')).status).toBe(200);
  });
});
