// Which real providers does the environment give a key for, or sign in at? Each becomes what a platform team would
// have written: a Secret, a Provider, and one ModelRoute per model of its listing, or per model that is named.

import { createHash } from 'node:crypto';
import { z } from 'zod';
import { UPSTREAM_DIALECTS, type UpstreamApi, upstreamDialectOfApi } from '../core/catalog/dialects.ts';
import { PROVIDER_TYPES, type ProviderType } from '../core/catalog/provider-types.ts';
import { timeOf } from '../core/kube/time.ts';
import { parseModelRoute } from '../operator/resources/model-route.ts';
import { parseProvider } from '../operator/resources/provider.ts';
import type { RawObject, SecretRecord } from '../operator/watch/snapshot.ts';
import { countModels } from './count-models.ts';
import { cloudsIn, withoutSlash } from './environment-clouds.ts';
import { type Manifests, noManifests } from './manifests.ts';
import { isOwnAddress } from './own-address.ts';
import type { LocalSettings } from './settings.ts';
import { localPlatform } from './snapshot.ts';

interface EnvironmentProviders {
  readonly manifests: Manifests;
  /** For the person at the terminal, a line each; never with a key, or an address that may hold one. */
  readonly notes: readonly string[];
}

interface Vendor {
  /** Prefix of the public model ids. */
  readonly name: string;
  readonly type: ProviderType;
  readonly apiKey: string | undefined;
  readonly apiKeyVariable: string;
  readonly baseUrl: string;
  /** Absent: it is at its own address. */
  readonly baseUrlVariable?: string;
  /** Behind the base URL. */
  readonly listPath: string;
}

const listingTimeoutMs = 10_000;

/**
 * @param ownPort The port this gateway serves on: an upstream there would be a loop.
 * @param nowMs Unix milliseconds: an object without a file is as old as the process.
 */
export async function readEnvironmentProviders(
  settings: LocalSettings,
  ownPort: number,
  nowMs: number,
): Promise<EnvironmentProviders> {
  const results = [
    ...(await Promise.all(vendorsOf(settings).map((vendor) => readVendor(vendor, ownPort)))),
    ...(await Promise.all(cloudsIn(settings.clouds ?? {}).map(readCloud))),
  ];
  const creationTimestamp = timeOf(nowMs);
  const stamp = (object: RawObject): RawObject => ({
    ...object,
    metadata: { ...object.metadata, creationTimestamp },
  });
  return {
    notes: results.map(({ note }) => note),
    manifests: {
      ...noManifests,
      providers: results.flatMap(({ provider }) => provider ?? []).map(stamp),
      modelRoutes: results.flatMap(({ routes }) => routes).map(stamp),
      secrets: results.flatMap(({ secret }) => secret ?? []),
      namespaces: [{ name: namespace, labels: { 'kubernetes.io/metadata.name': namespace } }],
    },
  };
}

const namespace = 'default';

function vendorsOf({ openAi, anthropic, gemini }: LocalSettings): readonly Vendor[] {
  const vendors: Vendor[] = [];
  if (openAi.apiKey !== undefined || openAi.baseUrl !== undefined) {
    vendors.push({
      name: 'openai',
      type: 'OpenAI',
      apiKey: openAi.apiKey,
      apiKeyVariable: 'OPENAI_API_KEY',
      baseUrl: withoutSlash(openAi.baseUrl ?? ownAddressOf('OpenAI')),
      baseUrlVariable: 'OPENAI_BASE_URL',
      listPath: '/models',
    });
  }
  if (anthropic.apiKey !== undefined) {
    vendors.push({
      name: 'anthropic',
      type: 'Anthropic',
      apiKey: anthropic.apiKey,
      apiKeyVariable: 'ANTHROPIC_API_KEY',
      // Its SDKs take the address without /v1, but people often write it with /v1.
      baseUrl: `${withoutSlash(anthropic.baseUrl ?? ownAddressOf('Anthropic')).replace(/\/v1$/, '')}/v1`,
      baseUrlVariable: 'ANTHROPIC_BASE_URL',
      // A page has 20 entries where nothing is said, and 1,000 at most.
      listPath: '/models?limit=1000',
    });
  }
  if (gemini.apiKey !== undefined) {
    vendors.push({
      name: 'gemini',
      type: 'Gemini',
      apiKey: gemini.apiKey,
      apiKeyVariable: 'GEMINI_API_KEY',
      // Its paths are no other server's.
      baseUrl: ownAddressOf('Gemini'),
      listPath: '/models?pageSize=1000',
    });
  }
  return vendors;
}

interface VendorResult {
  readonly note: string;
  readonly provider?: RawObject;
  readonly secret?: SecretRecord;
  readonly routes: readonly RawObject[];
}

async function readVendor(vendor: Vendor, ownPort: number): Promise<VendorResult> {
  const { name, apiKey, baseUrl } = vendor;
  const reason = refuse(vendor, ownPort);
  if (reason !== undefined) return { note: `${name} is not served: ${reason}`, routes: [] };
  const { host, origin } = new URL(baseUrl);
  let models: readonly string[];
  try {
    models = await listModels(vendor);
  } catch (error) {
    const fact = `its models could not be listed from ${host}: ${describeFailure(error)}`;
    return { note: `${name} is not served: ${fact}.`, routes: [] };
  }
  const drafts = models.map((model) => draftRoute(name, model));
  const routes = drafts.filter((route) => parseModelRoute(route).ok);
  const left = drafts.length - routes.length;
  return {
    note: servedNote(name, host, routes.length, left),
    routes,
    provider: draftProvider(vendor),
    ...(apiKey === undefined ? {} : { secret: draftSecret(name, origin, apiKey) }),
  };
}

/** Of a cloud at most the list of its models is asked: what else it refuses is in the condition of its Provider. */
async function readCloud(found: ReturnType<typeof cloudsIn>[number]): Promise<VendorResult> {
  const { name } = found;
  if ('missing' in found) return { note: `${name} is not served: set ${found.missing}.`, routes: [] };
  const { spec, secret, modelsVariable, listing } = found;
  if (found.models.length === 0 && !listing) {
    return { note: `${name} is not served yet: name its models in ${modelsVariable}.`, routes: [] };
  }
  let { models } = found;
  try {
    if (models.length === 0 && listing)
      models = await listing.list((path) => askJson(listing.origin + path, listing.headers));
  } catch (error) {
    const fact = `its models could not be listed: ${describeFailure(error)}`;
    return { note: `${name} is not served: ${fact}. Name them in ${modelsVariable}.`, routes: [] };
  }
  const keys = [{ name: 'environment', secretRef: { name: `${name}-environment`, key: 'apiKey' } }];
  const provider = {
    ...draftObject('Provider', name),
    spec: { ...spec, auth: { ...spec.auth, ...(secret === undefined ? {} : { keys }) } },
  };
  const parsed = parseProvider(provider);
  if (!parsed.ok) {
    const [problem] = parsed.problems;
    return { note: `${name} is not served: ${problem?.path} ${problem?.message}.`, routes: [] };
  }
  const { host, origin } = new URL(spec.baseURL);
  const routes = models.map((model) => draftRoute(name, model)).filter((route) => parseModelRoute(route).ok);
  return {
    note: servedNote(name, host, routes.length, models.length - routes.length),
    routes,
    provider,
    ...(secret === undefined ? {} : { secret: draftSecret(name, origin, secret) }),
  };
}

function servedNote(name: string, host: string, served: number, left: number): string {
  const more = left === 0 ? '' : ` (${left} left out: their names do not fit a model id)`;
  return `${name}: ${countModels(served)} of ${host} as ${name}/…${more}`;
}

function draftObject(kind: string, name: string): Pick<RawObject, 'apiVersion' | 'kind' | 'metadata'> {
  return { apiVersion: 'penstock.dev/v1alpha1', kind, metadata: { namespace, name } };
}

/** Why nothing may be asked there at all. */
function refuse(vendor: Vendor, ownPort: number): string | undefined {
  const { name, apiKey, apiKeyVariable, baseUrl, baseUrlVariable } = vendor;
  const isHttp = URL.canParse(baseUrl) && /^https?:$/.test(new URL(baseUrl).protocol);
  if (isHttp && isOwnAddress(new URL(baseUrl), ownPort)) {
    return `${baseUrlVariable} is the address of this gateway. Unset the variable in this terminal: only clients need it.`;
  }
  if (!isHttp || !parseProvider(draftProvider(vendor)).ok) {
    return (
      `${baseUrlVariable} must be an absolute http or https address such as https://api.example.com/v1, ` +
      'without query, fragment or user info.'
    );
  }
  // In a terminal with the variables of the client, a key of ours would be sent to a vendor.
  if (apiKey?.startsWith(localPlatform.keyPrefix) && isVendorsOwn(baseUrl)) {
    return `${apiKeyVariable} is a key of a Penstock gateway, not of ${name}. Unset it in this terminal.`;
  }
  return undefined;
}

function isVendorsOwn(baseUrl: string): boolean {
  const { hostname } = new URL(baseUrl);
  return (['OpenAI', 'Anthropic', 'Gemini'] as const).some(
    (type) => new URL(ownAddressOf(type)).hostname === hostname,
  );
}

/** `fetch failed` alone says nothing; the reason is in its cause. */
function describeFailure(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.name === 'TimeoutError') return `no answer within ${listingTimeoutMs / 1000} s`;
  return error.cause instanceof Error ? describeFailure(error.cause) : error.message || error.name;
}

/** Undefined: an answer without JSON. */
async function askJson(url: string, headers: Readonly<Record<string, string>>): Promise<unknown> {
  const signal = AbortSignal.timeout(listingTimeoutMs);
  const answer = await fetch(url, { headers, redirect: 'error', signal });
  if (!answer.ok) throw new Error(`it answered ${answer.status}`);
  return answer.json().catch(() => undefined);
}

async function listModels(vendor: Vendor): Promise<readonly string[]> {
  const { type, baseUrl, listPath, apiKey } = vendor;
  const { header } = PROVIDER_TYPES[type];
  const headers =
    apiKey === undefined
      ? {}
      : {
          [header.name]: header.prefix + apiKey,
          ...Object.fromEntries(UPSTREAM_DIALECTS[upstreamDialectOfApi[apiOf(type)]].headers),
        };
  const list = listingSchema.safeParse(await askJson(`${baseUrl}${listPath}`, headers)).data;
  const entries = list?.data ?? list?.models;
  if (entries === undefined) throw new Error('its answer has no list of models');
  return [...new Set(entries.flatMap(idOf))];
}

/** `data` of OpenAI and Anthropic, `models` of Google. */
const listingSchema = z.object({
  data: z.array(z.unknown()).optional(),
  models: z.array(z.unknown()).optional(),
});

const entrySchema = z.union([
  z.object({ id: z.string() }),
  z.object({ name: z.string(), supportedGenerationMethods: z.array(z.string()) }),
]);

function idOf(entry: unknown): readonly string[] {
  const { data } = entrySchema.safeParse(entry);
  if (data === undefined) return [];
  if ('id' in data) return [data.id];
  // The others give vectors, pictures or films.
  return data.supportedGenerationMethods.includes('generateContent')
    ? [data.name.replace(/^models\//, '')]
    : [];
}

function draftProvider({ name, type, apiKey, baseUrl }: Vendor): RawObject {
  const isVendor = URL.parse(baseUrl)?.origin === new URL(ownAddressOf(type)).origin;
  const keys = [{ name: 'environment', secretRef: { name: `${name}-environment`, key: 'apiKey' } }];
  const auth = apiKey === undefined ? { type: 'None' } : { keys };
  // A server at another address speaks what this vendor's clients speak; more is not known of it.
  const { header } = PROVIDER_TYPES[type];
  const elsewhere = {
    type: 'OpenAICompatible',
    apis: [apiOf(type)],
    auth: header.name === PROVIDER_TYPES.OpenAICompatible.header.name ? auth : { ...auth, header },
  };
  return {
    ...draftObject('Provider', name),
    spec: { baseURL: baseUrl, ...(isVendor ? { type, auth } : elsewhere) },
  };
}

function draftSecret(name: string, origin: string, apiKey: string): SecretRecord {
  return {
    namespace,
    name: `${name}-environment`,
    labels: { 'penstock.dev/provider-credential': 'true' },
    annotations: { 'penstock.dev/allowed-hosts': origin },
    type: 'Opaque',
    data: { apiKey },
  };
}

function draftRoute(vendor: string, model: string): RawObject {
  return {
    ...draftObject('ModelRoute', objectName(vendor, model)),
    spec: {
      model: `${vendor}/${model}`,
      ownedBy: vendor,
      targets: [{ name: vendor, providerRef: { name: vendor }, upstreamModel: model }],
    },
  };
}

/** A DNS label: what is lost of the model's spelling is made up for by its hash. */
function objectName(vendor: string, model: string): string {
  const slug = model
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, 40)
    .replace(/^-|-$/g, '');
  return `${vendor}-${slug}-${createHash('sha256').update(model).digest('hex').slice(0, 8)}`;
}

function ownAddressOf(type: ProviderType): string {
  return PROVIDER_TYPES[type].baseUrl ?? '';
}

/** The default dialect of the vendor. */
function apiOf(type: ProviderType): UpstreamApi {
  return PROVIDER_TYPES[type].apis?.[0] ?? 'ChatCompletions';
}
