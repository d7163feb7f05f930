// Which clouds does the environment sign in at? One row each. A variable names the models where the cloud does not list what the account may call.

import type { ProviderType } from '../core/catalog/provider-types.ts';
import { listBedrockModels } from './list-bedrock-models.ts';

/** Variables that are set, by their names. */
export type CloudEnvironment = Readonly<Partial<Record<CloudVariable, string>>>;
export type CloudVariable = (typeof cloudVariables)[number];

export const cloudVariables = [
  // https://docs.aws.amazon.com/sdkref/latest/guide/settings-reference.html
  'AWS_ACCESS_KEY_ID',
  'AWS_BEARER_TOKEN_BEDROCK',
  'AWS_DEFAULT_REGION',
  'AWS_ENDPOINT_URL_BEDROCK',
  'AWS_ENDPOINT_URL_BEDROCK_RUNTIME',
  'AWS_REGION',
  'AWS_ROLE_ARN',
  'AWS_SECRET_ACCESS_KEY',
  'AWS_WEB_IDENTITY_TOKEN_FILE',
  // https://googleapis.github.io/python-genai
  'GOOGLE_APPLICATION_CREDENTIALS',
  'GOOGLE_CLOUD_LOCATION',
  'GOOGLE_CLOUD_PROJECT',
  'GOOGLE_VERTEX_BASE_URL',
  // https://learn.microsoft.com/azure/ai-foundry/openai
  'AZURE_CLIENT_ID',
  'AZURE_CLIENT_SECRET',
  'AZURE_FEDERATED_TOKEN_FILE',
  'AZURE_OPENAI_API_KEY',
  'AZURE_OPENAI_API_VERSION',
  'AZURE_OPENAI_ENDPOINT',
  'AZURE_TENANT_ID',
  'PENSTOCK_AZURE_MODELS',
  'PENSTOCK_BEDROCK_MODELS',
  'PENSTOCK_VERTEX_MODELS',
] as const;

/** A cloud that can be signed in at. */
interface CloudSetup {
  /** Of the Provider, and prefix of the public model ids. */
  readonly name: string;
  readonly spec: {
    readonly type: ProviderType;
    readonly baseURL: string;
    readonly auth: Readonly<Record<string, unknown>>;
    readonly options?: Readonly<Record<string, string>>;
  };
  /** The key, stored as a Secret; absent: the process signs in from its environment. */
  readonly secret?: string;
  /** As the cloud calls them. */
  readonly models: readonly string[];
  readonly modelsVariable: CloudVariable;
  /** Where the cloud lists them, and how; absent: nowhere. */
  readonly listing?: Listing;
}

interface Listing {
  readonly origin: string;
  readonly headers: Readonly<Record<string, string>>;
  list(ask: (path: string) => Promise<unknown>): Promise<readonly string[]>;
}

/** Or which variable is missing. */
type Found = CloudSetup | { readonly name: string; readonly missing: string };

/** @param environment What of it is set. */
export function cloudsIn(environment: CloudEnvironment): readonly Found[] {
  return rows.flatMap((read) => read(environment) ?? []);
}

const rows: readonly ((environment: CloudEnvironment) => Found | undefined)[] = [
  readBedrock,
  readVertex,
  readAzure,
];

function readBedrock(environment: CloudEnvironment): Found | undefined {
  const name = 'bedrock';
  const secret = environment.AWS_BEARER_TOKEN_BEDROCK;
  const hasKeys =
    environment.AWS_ACCESS_KEY_ID !== undefined && environment.AWS_SECRET_ACCESS_KEY !== undefined;
  const hasRole =
    environment.AWS_ROLE_ARN !== undefined && environment.AWS_WEB_IDENTITY_TOKEN_FILE !== undefined;
  if (secret === undefined) {
    // Access keys are in many a shell, for other things.
    if (environment.PENSTOCK_BEDROCK_MODELS === undefined) return undefined;
    if (!hasKeys && !hasRole)
      return { name, missing: 'AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_BEARER_TOKEN_BEDROCK' };
  }
  const region = environment.AWS_REGION ?? environment.AWS_DEFAULT_REGION;
  if (region === undefined) return { name, missing: 'AWS_REGION' };
  return {
    name,
    spec: {
      type: 'Bedrock',
      baseURL: withoutSlash(
        environment.AWS_ENDPOINT_URL_BEDROCK_RUNTIME ?? `https://bedrock-runtime.${region}.amazonaws.com`,
      ),
      auth: secret === undefined ? { type: 'AWS' } : {},
      options: { region },
    },
    ...(secret !== undefined && { secret, ...bedrockListing(environment, region, secret) }),
    ...modelsOf(environment, 'PENSTOCK_BEDROCK_MODELS'),
  };
}

/** AWS's control plane takes the same key as its models. A key for another server is not sent to AWS: then models are not listed. */
function bedrockListing(
  environment: CloudEnvironment,
  region: string,
  key: string,
): Pick<CloudSetup, 'listing'> {
  const { AWS_ENDPOINT_URL_BEDROCK: said, AWS_ENDPOINT_URL_BEDROCK_RUNTIME: ofModels } = environment;
  if (said === undefined && ofModels !== undefined) return {};
  const origin = withoutSlash(said ?? `https://bedrock.${region}.amazonaws.com`);
  return { listing: { origin, headers: { authorization: `Bearer ${key}` }, list: listBedrockModels } };
}

export function withoutSlash(address: string): string {
  return address.replace(/(?<!\/)\/+$/, '');
}

function readVertex(environment: CloudEnvironment): Found | undefined {
  const name = 'vertex';
  if (environment.GOOGLE_APPLICATION_CREDENTIALS === undefined) {
    const isAsked = environment.PENSTOCK_VERTEX_MODELS !== undefined;
    return isAsked ? { name, missing: 'GOOGLE_APPLICATION_CREDENTIALS' } : undefined;
  }
  const project = environment.GOOGLE_CLOUD_PROJECT;
  if (project === undefined) return { name, missing: 'GOOGLE_CLOUD_PROJECT' };
  const location = environment.GOOGLE_CLOUD_LOCATION ?? 'global';
  return {
    name,
    spec: {
      type: 'VertexAI',
      baseURL: environment.GOOGLE_VERTEX_BASE_URL ?? `https://${hostOf(location)}/v1`,
      auth: { type: 'GCP' },
      options: { project, location },
    },
    ...modelsOf(environment, 'PENSTOCK_VERTEX_MODELS'),
  };
}

/** https://docs.cloud.google.com/vertex-ai/generative-ai/docs/learn/locations */
function hostOf(location: string): string {
  if (location === 'global') return 'aiplatform.googleapis.com';
  return location.includes('-')
    ? `${location}-aiplatform.googleapis.com`
    : `aiplatform.${location}.rep.googleapis.com`;
}

function readAzure(environment: CloudEnvironment): Found | undefined {
  const name = 'azure';
  const baseURL = environment.AZURE_OPENAI_ENDPOINT;
  if (baseURL === undefined) {
    const isAsked = environment.PENSTOCK_AZURE_MODELS !== undefined;
    return isAsked ? { name, missing: 'AZURE_OPENAI_ENDPOINT' } : undefined;
  }
  const app = { tenantID: environment.AZURE_TENANT_ID, clientID: environment.AZURE_CLIENT_ID };
  const isApp = app.tenantID !== undefined && app.clientID !== undefined;
  const key = environment.AZURE_OPENAI_API_KEY;
  const secret = key ?? (isApp ? environment.AZURE_CLIENT_SECRET : undefined);
  const hasToken = isApp && environment.AZURE_FEDERATED_TOKEN_FILE !== undefined;
  if (secret === undefined && !hasToken) {
    return {
      name,
      missing: 'AZURE_OPENAI_API_KEY, or AZURE_TENANT_ID, AZURE_CLIENT_ID and AZURE_CLIENT_SECRET',
    };
  }
  const version = environment.AZURE_OPENAI_API_VERSION;
  const auth =
    key !== undefined ? {} : secret === undefined ? { type: 'Azure' } : { type: 'Azure', azure: app };
  return {
    name,
    spec: {
      type: 'AzureOpenAI',
      baseURL: withoutSlash(baseURL),
      auth,
      ...(version === undefined ? {} : { options: { apiVersion: version } }),
    },
    ...(secret !== undefined && { secret }),
    ...modelsOf(environment, 'PENSTOCK_AZURE_MODELS'),
  };
}

function modelsOf(environment: CloudEnvironment, modelsVariable: CloudVariable) {
  const names = (environment[modelsVariable] ?? '').split(/[\s,]+/).filter((name) => name !== '');
  return { models: [...new Set(names)], modelsVariable };
}
