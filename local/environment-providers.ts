// Which real providers does the environment give a key for? Each becomes what a platform team would
// have written: a Secret, a Provider, and one ModelRoute per model of its listing.

import { createHash } from 'node:crypto';
import { parseModelRoute } from '../operator/resources/model-route.ts';
import type { RawObject } from '../operator/watch/snapshot.ts';
import type { Manifests } from './manifests.ts';
import type { LocalSettings } from './settings.ts';

export interface EnvironmentProviders {
  readonly manifests: Manifests;
  /** For the person at the terminal, a line each. */
  readonly notes: readonly string[];
}

interface Vendor {
  /** Prefix of the public model ids. */
  readonly name: 'openai' | 'anthropic';
  readonly variable: string;
  readonly apiKey: string | undefined;
  readonly baseUrl: string;
  readonly baseUrlVariable: string;
  listHeaders(apiKey: string): Record<string, string>;
}

const listingTimeoutMs = 10_000;

/** @param ownPort The port this gateway will serve on: an upstream there would be a loop. */
export async function readEnvironmentProviders(
  settings: LocalSettings,
  ownPort: number,
): Promise<EnvironmentProviders> {
  const results = await Promise.all(vendorsOf(settings).map((vendor) => readVendor(vendor, ownPort)));
  return {
    notes: results.map(({ note }) => note),
    manifests: {
      providers: results.flatMap(({ provider }) => provider ?? []),
      modelRoutes: results.flatMap(({ routes }) => routes),
      apiKeys: [],
      secrets: results.flatMap(({ secret }) => secret ?? []),
      namespaces: [],
      places: new Map(),
      problems: [],
    },
  };
}

function vendorsOf({ openAi, anthropic }: LocalSettings): readonly Vendor[] {
  const vendors: Vendor[] = [];
  if (openAi.apiKey !== undefined || openAi.baseUrl !== undefined) {
    vendors.push({
      name: 'openai',
      variable: 'OPENAI_API_KEY',
      apiKey: openAi.apiKey,
      baseUrl: withoutSlash(openAi.baseUrl ?? 'https://api.openai.com/v1'),
      baseUrlVariable: 'OPENAI_BASE_URL',
      listHeaders: (apiKey) => ({ authorization: `Bearer ${apiKey}` }),
    });
  }
  if (anthropic.apiKey !== undefined) {
    vendors.push({
      name: 'anthropic',
      variable: 'ANTHROPIC_API_KEY',
      apiKey: anthropic.apiKey,
      // Served through the vendor's own chat completions endpoint until messages are spoken here.
      baseUrl: `${withoutSlash(anthropic.baseUrl ?? 'https://api.anthropic.com')}/v1`,
      baseUrlVariable: 'ANTHROPIC_BASE_URL',
      listHeaders: (apiKey) => ({ 'x-api-key': apiKey, 'anthropic-version': '2023-06-01' }),
    });
  }
  return vendors;
}

interface VendorResult {
  readonly note: string;
  readonly provider?: RawObject;
  readonly secret?: Manifests['secrets'][number];
  readonly routes: readonly RawObject[];
}

async function readVendor(vendor: Vendor, ownPort: number): Promise<VendorResult> {
  const { name, apiKey, baseUrl, baseUrlVariable } = vendor;
  if (!URL.canParse(baseUrl)) {
    return {
      note: `${baseUrlVariable} is not an absolute address: '${baseUrl}'; ${name} is left out.`,
      routes: [],
    };
  }
  if (isOwnAddress(baseUrl, ownPort)) {
    const way = `unset ${baseUrlVariable} in this terminal; it belongs to the client.`;
    return {
      note: `${baseUrlVariable} is this gateway itself, which would call itself for ever: ${way}`,
      routes: [],
    };
  }
  let models: readonly string[];
  try {
    models = await listModels(vendor);
  } catch (error) {
    const fact = error instanceof Error ? error.message : String(error);
    return {
      note: `${name} is left out: its models could not be listed from ${baseUrl} (${fact}).`,
      routes: [],
    };
  }
  const drafts = models.map((model) => draftRoute(name, model));
  const routes = drafts.filter((route) => parseModelRoute(route).ok);
  const left = drafts.length - routes.length;
  const note =
    `${name}: ${routes.length} models of ${new URL(baseUrl).host} as ${name}/…` +
    (left === 0 ? '' : ` (${left} left out: their names do not fit a model id)`);
  return {
    note,
    routes,
    provider: draftProvider(name, baseUrl, apiKey !== undefined),
    ...(apiKey === undefined ? {} : { secret: draftSecret(name, baseUrl, apiKey) }),
  };
}

async function listModels({ baseUrl, apiKey, listHeaders }: Vendor): Promise<readonly string[]> {
  const answer = await fetch(`${baseUrl}/models`, {
    headers: apiKey === undefined ? {} : listHeaders(apiKey),
    redirect: 'error',
    signal: AbortSignal.timeout(listingTimeoutMs),
  });
  if (!answer.ok) throw new Error(`it answered ${answer.status}`);
  const body: unknown = await answer.json();
  const data = typeof body === 'object' && body !== null && 'data' in body ? body.data : undefined;
  if (!Array.isArray(data)) throw new Error('its answer holds no list of models');
  return data.flatMap((entry: unknown) =>
    typeof entry === 'object' && entry !== null && 'id' in entry && typeof entry.id === 'string'
      ? [entry.id]
      : [],
  );
}

function draftProvider(name: string, baseURL: string, hasKey: boolean): RawObject {
  return {
    apiVersion: 'penstock.dev/v1alpha1',
    kind: 'Provider',
    metadata: { namespace: 'default', name },
    spec: {
      type: 'OpenAICompatible',
      baseURL,
      apis: ['ChatCompletions'],
      auth: hasKey
        ? { keys: [{ name: 'environment', secretRef: { name: `${name}-environment`, key: 'apiKey' } }] }
        : { type: 'None' },
    },
  };
}

function draftSecret(name: string, baseUrl: string, apiKey: string): Manifests['secrets'][number] {
  return {
    namespace: 'default',
    name: `${name}-environment`,
    labels: { 'penstock.dev/provider-credential': 'true' },
    annotations: { 'penstock.dev/allowed-hosts': new URL(baseUrl).host },
    type: 'Opaque',
    data: { apiKey },
  };
}

function draftRoute(vendor: string, model: string): RawObject {
  return {
    apiVersion: 'penstock.dev/v1alpha1',
    kind: 'ModelRoute',
    metadata: { namespace: 'default', name: objectName(vendor, model) },
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

function isOwnAddress(baseUrl: string, ownPort: number): boolean {
  const { hostname, port, protocol } = new URL(baseUrl);
  const isLoopback =
    hostname === 'localhost' || hostname === '[::1]' || hostname === '0.0.0.0' || /^127\./.test(hostname);
  return isLoopback && Number(port || (protocol === 'https:' ? 443 : 80)) === ownPort;
}

function withoutSlash(url: string): string {
  return url.replace(/\/+$/, '');
}
