// What becomes of a provider type that is one row of the catalogue and nothing else? A process of its own: the row is put into the source of
// core/catalog/provider-types.ts while that is loaded, and what came of it goes to the output as JSON.

import { createHash } from 'node:crypto';
import { registerHooks } from 'node:module';

const row = `
  Imaginary: {
    title: 'Imaginary cloud',
    isSelfHosted: true,
    apis: ['Messages'],
    header: { name: 'x-imaginary-key', prefix: 'Key ' },
    options: { region: 'x-imaginary-region' },
    ownedBy: 'imaginary',
    telemetryName: 'imaginary_cloud',
  },`;

const cloudRow = `
  ImaginaryCloud: {
    title: 'Imaginary cloud with seats',
    baseUrl: 'https://cloud.example/v1',
    apis: ['Messages'],
    header: { name: 'x-imaginary-key', prefix: 'Key ' },
    options: {},
    hasOwnSeats: true,
    ownedBy: 'imaginary',
    telemetryName: 'imaginary_cloud',
  },`;

registerHooks({
  load(url, context, next) {
    const loaded = next(url, context);
    if (!url.endsWith('/core/catalog/provider-types.ts')) return loaded;
    const source = String(loaded.source)
      .replace('\nconst rows = {', `$&${row}`)
      .replace('\n} satisfies Record<string, ProviderTypeFacts>', `${cloudRow}$&`);
    return { ...loaded, source };
  },
});

const { rootSchema } = await import('../../../operator/resources/crd.ts');
const { providerResource } = await import('../../../operator/resources/provider.ts');
const { apiReference } = await import('../../../operator/resources/reference.ts');
const { pagesChoices } = await import('../../../tools/pages-choices.ts');
const { providerNameOf } = await import('../../../gateway/meter/gen-ai-metrics.ts');
const { PLAN_PATH } = await import('../../../core/contract/plan.ts');
const make = await import('../../operator/make.ts');
const { compileOnce } = await import('../../operator/compile/support.ts');
const { loopback, startRig, tableOf, testKey } = await import('../../gateway/rig.ts');
const { rawCall } = await import('../../support/raw-client.ts');
const { startWall } = await import('../../support/wall.ts');

const wall = await startWall();
const host = `127.0.0.1:${wall.port}`;
const compiled = compileOnce(
  make.snapshot({
    namespaces: [make.namespace('team-a')],
    platform: { ...make.PLATFORM, egressAllow: [{ cidr: '127.0.0.0/8', namespaces: ['*'] }] },
    providers: [make.provider({ type: 'Imaginary', baseURL: wall.baseUrl, options: { region: 'here' } })],
    secrets: [make.secret({ annotations: { 'penstock.dev/allowed-hosts': `http://${host}` } })],
    modelRoutes: [make.route()],
    apiKeys: [make.apiKey({ imports: [{ sha256: createHash('sha256').update(testKey).digest('hex') }] })],
  }),
);
const checkedTypes = ['OpenAI', 'ImaginaryCloud'].map((type) =>
  [{}, { active: { type: 'HTTPGet', path: '/alive' } }].map((healthCheck) => {
    const { table, healthChecks } = compileOnce(
      make.snapshot({ providers: [make.provider({ type, healthCheck })], secrets: [make.secret()] }),
    );
    return { types: table.providers.map((entry) => entry.type), checks: healthChecks.length };
  }),
);
const bearer = 't'.repeat(43);
const rig = await startRig(
  {
    ...tableOf([]),
    ...compiled.table,
    settings: { ...compiled.table.settings, egressAllow: loopback.egressAllow },
  },
  {
    exchange: {
      port: 0,
      token: () => bearer,
      journal: {
        begin() {},
        append() {},
        flush: async () => {},
        close: async () => {},
        read: async () => undefined,
        onWritten: () => () => {},
      },
    },
  },
);
const question = { namespace: 'team-a', apiKey: 'bot', model: 'chat', dialect: 'messages' };
const plan = await rawCall(
  { port: Number(new URL(rig.gateway.internalUrl ?? '').port) },
  { path: PLAN_PATH, method: 'POST', headers: { authorization: `Bearer ${bearer}` }, body: question },
);
const answer = await rawCall(
  { port: Number(new URL(rig.url).port) },
  {
    path: '/v1/messages',
    method: 'POST',
    headers: { authorization: `Bearer ${testKey}` },
    body: { model: 'chat', max_tokens: 8, messages: [{ role: 'user', content: 'Are you there?' }] },
  },
);
const { path, headers } = await wall.nextCall();
await rig.close();
await wall.close();

console.log(
  JSON.stringify({
    spec: rootSchema(providerResource).properties?.spec,
    reference: apiReference([providerResource]),
    choices: pagesChoices(),
    telemetryName: providerNameOf('Imaginary'),
    verdicts: compiled.verdicts,
    entry: compiled.table.providers[0],
    plan: plan.json,
    status: answer.status,
    call: { path, headers },
    checkedTypes,
  }),
);
