// What does the environment say? Read once, validated, frozen; also the files that it names, which hold what is secret.

import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { anyAddress } from '../core/telemetry/process-server.ts';
import { readTelemetrySettings, type TelemetrySettings } from '../core/telemetry/settings.ts';
import { isLoopback, type Place, placeOf } from './guard/places.ts';

const mustBePort = 'must be a port number from 0 to 65535';
const port = z.coerce.number(mustBePort).int(mustBePort).min(0, mustBePort).max(65_535, mustBePort);
const mustBeHttp = 'must be an http or https address';
const httpUrl = z.url({ protocol: /^https?$/, error: mustBeHttp });
/** What paths are put behind. */
const httpBase = httpUrl.transform((text) => text.replace(/\/+$/, ''));
const mustBeMinutes = 'must be a whole number of minutes from 5 to 720';
const mustBeOrigins =
  'must be addresses such as https://penstock.example.com, separated by commas; plain http only of this machine';

const settingsSchema = z.object({
  PENSTOCK_DASHBOARD_HOST: z
    .string()
    .min(1)
    .default(() => anyAddress()),
  PENSTOCK_DASHBOARD_PORT: port.default(8080),
  /** For Kubernetes and Prometheus. */
  PENSTOCK_DASHBOARD_METRICS_PORT: port.default(9090),
  /** As people open it, as many as there are. Besides them only the names of one's own machine, for `kubectl port-forward`. */
  PENSTOCK_DASHBOARD_URL: z
    .string()
    .default('')
    .transform((text, context): readonly Place[] => {
      const places = text.split(',').flatMap((part) => part.trim() || []);
      const found = places.map((one) => placeOfUrl(one));
      if (found.every((place) => place !== undefined)) return found;
      context.addIssue({ code: 'custom', message: mustBeOrigins });
      return z.NEVER;
    }),
  /** Proxies whose forwarded address of a request is trusted. */
  PENSTOCK_DASHBOARD_PROXIES: z
    .string()
    .default('')
    .transform((text) => text.split(',').flatMap((part) => part.trim() || [])),
  /** The gateway as programs outside reach it, without `/v1`. */
  PENSTOCK_DASHBOARD_GATEWAY_URL: httpBase.transform((text) => text.replace(/\/v1$/, '')).optional(),
  /** What keys of the installation begin with, as in the settings of the operator. */
  PENSTOCK_DASHBOARD_KEY_PREFIX: z
    .string()
    .regex(/^[A-Za-z0-9_-]{1,16}$/, 'must be 1 to 16 letters, digits, _ and -, such as psk_')
    .default('psk_'),
  /** The read API. */
  PENSTOCK_DASHBOARD_LEDGER_URL: httpUrl.optional(),
  /** Authority of the ledger's certificate, if its address is https. */
  PENSTOCK_DASHBOARD_LEDGER_CA_FILE: z.string().optional(),
  PENSTOCK_DASHBOARD_KUBERNETES_URL: httpBase.optional(),
  /** Authority of the API server's certificate. */
  PENSTOCK_DASHBOARD_KUBERNETES_CA_FILE: z.string().optional(),
  /** Keys for the cookies, base64 of 32 bytes, one a line: the first seals, all of them open. None: one is made at start. */
  PENSTOCK_DASHBOARD_SESSION_KEYS_FILE: z.string().optional(),
  PENSTOCK_DASHBOARD_SESSION_MINUTES: z.coerce
    .number(mustBeMinutes)
    .int(mustBeMinutes)
    .min(5, mustBeMinutes)
    .max(720, mustBeMinutes)
    .default(60),
  /** OpenID Connect; its id tokens must be such as the API server takes. To the letter as it calls itself: a slash at the end belongs to it. */
  PENSTOCK_DASHBOARD_OIDC_ISSUER: httpUrl.optional(),
  PENSTOCK_DASHBOARD_OIDC_CLIENT_ID: z.string().min(1).optional(),
  /** Without one the client is a public one. */
  PENSTOCK_DASHBOARD_OIDC_CLIENT_SECRET_FILE: z.string().optional(),
  PENSTOCK_DASHBOARD_OIDC_SCOPES: z.string().min(1).default('openid profile email groups'),
  /** The label of the button. */
  PENSTOCK_DASHBOARD_OIDC_NAME: z.string().min(1).max(60).default('single sign-on'),
  /** The built pages. */
  PENSTOCK_DASHBOARD_PAGES: z.string().min(1).default('dist/dashboard'),
  /** Where Kubernetes says that its API server is. */
  KUBERNETES_SERVICE_HOST: z.string().optional(),
  KUBERNETES_SERVICE_PORT: z.string().optional(),
});

/** The variables that are read. */
export const settingNames: readonly string[] = Object.keys(settingsSchema.shape);

export interface OidcSettings {
  readonly issuer: string;
  readonly clientId: string;
  /** Undefined: a public client. */
  readonly clientSecret: string | undefined;
  readonly scopes: string;
  readonly name: string;
}

/** What any dashboard needs, in a pod or on a laptop. */
export interface DashboardSettings {
  readonly host: string;
  readonly port: number;
  readonly places: readonly Place[];
  readonly proxies: readonly string[];
  readonly gatewayUrl: string | undefined;
  /** What keys begin with that pages make. Left out: `psk_`. */
  readonly keyPrefix?: string;
  /** 32 bytes each; the first seals. None: one is made at start. */
  readonly sessionKeys: readonly Uint8Array[];
  readonly sessionMs: number;
}

export interface PodSettings extends DashboardSettings {
  readonly metricsPort: number;
  readonly ledgerUrl: string | undefined;
  readonly ledgerCaFile: string | undefined;
  readonly kubernetes: { readonly url: string; readonly caFile: string | undefined };
  readonly oidc: OidcSettings | undefined;
  readonly pagesFolder: string;
  /** Where metrics are sent besides, by the variables of OpenTelemetry; undefined: nowhere. */
  readonly telemetry: TelemetrySettings | undefined;
}

/** @throws {Error} naming every variable that is missing or wrong, and what it should be; never with its value. */
export function readSettings(environment: NodeJS.ProcessEnv = process.env): PodSettings {
  const parsed = settingsSchema.safeParse(withoutEmpty(environment));
  if (!parsed.success) {
    const faults = parsed.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`);
    throw new Error(`Invalid environment: ${faults.join('; ')}`);
  }
  const { data } = parsed;
  const keysFile = data.PENSTOCK_DASHBOARD_SESSION_KEYS_FILE;
  return Object.freeze({
    host: data.PENSTOCK_DASHBOARD_HOST,
    port: data.PENSTOCK_DASHBOARD_PORT,
    metricsPort: data.PENSTOCK_DASHBOARD_METRICS_PORT,
    places: data.PENSTOCK_DASHBOARD_URL,
    proxies: data.PENSTOCK_DASHBOARD_PROXIES,
    gatewayUrl: data.PENSTOCK_DASHBOARD_GATEWAY_URL,
    keyPrefix: data.PENSTOCK_DASHBOARD_KEY_PREFIX,
    ledgerUrl: data.PENSTOCK_DASHBOARD_LEDGER_URL,
    ledgerCaFile: data.PENSTOCK_DASHBOARD_LEDGER_CA_FILE,
    kubernetes: { url: kubernetesUrlOf(data), caFile: data.PENSTOCK_DASHBOARD_KUBERNETES_CA_FILE },
    sessionKeys: keysFile === undefined ? [] : readKeys(keysFile),
    sessionMs: data.PENSTOCK_DASHBOARD_SESSION_MINUTES * 60_000,
    oidc: oidcOf(data),
    pagesFolder: data.PENSTOCK_DASHBOARD_PAGES,
    telemetry: readTelemetrySettings(environment, 'penstock-dashboard'),
  });
}

type Data = z.infer<typeof settingsSchema>;

function kubernetesUrlOf(data: Data): string {
  const { PENSTOCK_DASHBOARD_KUBERNETES_URL: url, KUBERNETES_SERVICE_HOST: host = '' } = data;
  if (url !== undefined) return url;
  if (host === '')
    throw new Error(
      'Invalid environment: PENSTOCK_DASHBOARD_KUBERNETES_URL: is needed outside of a pod, such as https://10.0.0.1:6443',
    );
  const name = host.includes(':') ? `[${host}]` : host;
  return `https://${name}:${data.KUBERNETES_SERVICE_PORT ?? '443'}`;
}

function oidcOf(data: Data): OidcSettings | undefined {
  const issuer = data.PENSTOCK_DASHBOARD_OIDC_ISSUER;
  const clientId = data.PENSTOCK_DASHBOARD_OIDC_CLIENT_ID;
  if (issuer === undefined && clientId === undefined) return undefined;
  if (issuer === undefined || clientId === undefined)
    throw new Error(
      'Invalid environment: PENSTOCK_DASHBOARD_OIDC_ISSUER and PENSTOCK_DASHBOARD_OIDC_CLIENT_ID: set both or neither',
    );
  const { protocol, hostname } = new URL(issuer);
  if (protocol !== 'https:' && !isLoopback(hostname))
    throw new Error('Invalid environment: PENSTOCK_DASHBOARD_OIDC_ISSUER: must be an https address');
  const secretFile = data.PENSTOCK_DASHBOARD_OIDC_CLIENT_SECRET_FILE;
  return {
    issuer,
    clientId,
    clientSecret: secretFile === undefined ? undefined : readText(secretFile),
    scopes: data.PENSTOCK_DASHBOARD_OIDC_SCOPES,
    name: data.PENSTOCK_DASHBOARD_OIDC_NAME,
  };
}

function placeOfUrl(text: string): Place | undefined {
  const url = URL.parse(text);
  if (url === null || url.pathname !== '/' || url.search !== '') return undefined;
  if (url.protocol === 'http:' && !isLoopback(url.hostname)) return undefined;
  return url.protocol === 'http:' || url.protocol === 'https:' ? placeOf(url) : undefined;
}

/** @throws naming the file and the line, never what is in it. */
function readKeys(file: string): readonly Uint8Array[] {
  const lines = readText(file)
    .split('\n')
    .flatMap((line) => line.trim() || []);
  if (lines.length === 0) throw new Error(`${file}: holds no key; write one with: openssl rand -base64 32`);
  return lines.map((line, index) => {
    const bytes = Buffer.from(line, 'base64');
    if (bytes.length !== 32)
      throw new Error(
        `${file}: line ${index + 1} is not the base64 of 32 bytes; make one with: openssl rand -base64 32`,
      );
    return bytes;
  });
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : 'unknown error';
    throw new Error(`${file}: cannot be read (${code})`);
  }
}

/** A chart writes every variable, also those that it has no value for. */
function withoutEmpty(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(environment).filter(([, value]) => value?.trim() !== ''));
}
