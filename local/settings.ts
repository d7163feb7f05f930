// Which settings does local mode read from the environment? Once, validated, frozen.

import { z } from 'zod';
import {
  type IdentityEnvironment,
  readIdentityEnvironment,
} from '../gateway/upstream/identity/environment.ts';
import { type CloudEnvironment, type CloudVariable, cloudVariables } from './environment-clouds.ts';

const portMessage = 'must be a port number from 0 (any free one) to 65535';
const port = z.coerce.number(portMessage).int(portMessage).min(0, portMessage).max(65_535, portMessage);
const text = z.string().trim().min(1).optional();
/** An invalid header value would come back, in full, in the error of the HTTP client. */
const credential = z
  .string()
  .trim()
  .regex(
    /^[\x21-\x7e]+$/,
    'has a character that is not valid in a key, such as a line break; copy the key again',
  )
  .optional();

/** Of the variables of clouds, those that become a Secret. */
const credentials: ReadonlySet<string> = new Set<CloudVariable>([
  'AWS_BEARER_TOKEN_BEDROCK',
  'AZURE_CLIENT_SECRET',
  'AZURE_OPENAI_API_KEY',
]);

const settingsSchema = z.object({
  PENSTOCK_PORT: port.default(8080),
  PENSTOCK_METRICS_PORT: port.default(9090),
  PENSTOCK_SIMULATOR_PORT: port.default(9100),
  PENSTOCK_DASHBOARD_PORT: port.default(8081),
  /** The built pages of the dashboard. */
  PENSTOCK_DASHBOARD_PAGES: z.string().default('dist/dashboard'),
  PENSTOCK_MANIFESTS: z.string().optional(),
  /** Keys and journal; made once and kept. */
  PENSTOCK_STATE_DIR: z.string().default('.penstock'),
  PENSTOCK_REQUEST_LINES: z.enum(['on', 'off'], 'must be on or off').default('on'),
  OPENAI_API_KEY: credential,
  OPENAI_BASE_URL: text,
  ANTHROPIC_API_KEY: credential,
  ANTHROPIC_BASE_URL: text,
  GEMINI_API_KEY: credential,
  ...(Object.fromEntries(
    cloudVariables.map((name) => [name, credentials.has(name) ? credential : text]),
  ) as Record<CloudVariable, typeof text>),
});

export const PORT_FIELDS = ['port', 'metricsPort', 'simulatorPort', 'dashboardPort'] as const;

export const portVariables = {
  port: 'PENSTOCK_PORT',
  metricsPort: 'PENSTOCK_METRICS_PORT',
  simulatorPort: 'PENSTOCK_SIMULATOR_PORT',
  dashboardPort: 'PENSTOCK_DASHBOARD_PORT',
} as const satisfies Record<(typeof PORT_FIELDS)[number], string>;

export interface LocalSettings {
  readonly port: number;
  readonly metricsPort: number;
  readonly simulatorPort: number;
  readonly dashboardPort: number;
  readonly pagesFolder: string;
  readonly manifestsFolder: string;
  /** Copied to `manifestsFolder` at the first start; undefined if the environment names a folder. */
  readonly quickstartFolder?: string | undefined;
  readonly stateFolder: string;
  /** Whether the terminal says a line about each request; it does where left out. */
  readonly requestLines?: boolean | undefined;
  readonly openAi: { readonly apiKey: string | undefined; readonly baseUrl: string | undefined };
  readonly anthropic: { readonly apiKey: string | undefined; readonly baseUrl: string | undefined };
  readonly gemini: { readonly apiKey: string | undefined };
  readonly clouds?: CloudEnvironment | undefined;
  /** For Providers without keys. */
  readonly identity?: IdentityEnvironment | undefined;
}

/** @throws {Error} naming every variable that is wrong, and what it should be; never with its value. */
export function readSettings(environment: NodeJS.ProcessEnv = process.env): LocalSettings {
  const parsed = settingsSchema.safeParse(withoutEmpty(environment));
  if (!parsed.success) {
    const faults = parsed.error.issues.map((issue) => `${issue.path.join('.')} ${issue.message}`);
    throw new Error(`Invalid settings: ${faults.join('; ')}.`);
  }
  const { data } = parsed;
  const settings = Object.freeze({
    port: data.PENSTOCK_PORT,
    metricsPort: data.PENSTOCK_METRICS_PORT,
    simulatorPort: data.PENSTOCK_SIMULATOR_PORT,
    dashboardPort: data.PENSTOCK_DASHBOARD_PORT,
    pagesFolder: data.PENSTOCK_DASHBOARD_PAGES,
    manifestsFolder: data.PENSTOCK_MANIFESTS ?? 'manifests',
    quickstartFolder: data.PENSTOCK_MANIFESTS === undefined ? 'docs/examples/quickstart' : undefined,
    stateFolder: data.PENSTOCK_STATE_DIR,
    requestLines: data.PENSTOCK_REQUEST_LINES === 'on',
    openAi: { apiKey: data.OPENAI_API_KEY, baseUrl: data.OPENAI_BASE_URL },
    anthropic: { apiKey: data.ANTHROPIC_API_KEY, baseUrl: data.ANTHROPIC_BASE_URL },
    gemini: { apiKey: data.GEMINI_API_KEY },
    clouds: Object.freeze(
      Object.fromEntries(
        cloudVariables.flatMap((name) => (data[name] === undefined ? [] : [[name, data[name]]])),
      ),
    ),
    identity: readIdentityEnvironment(environment),
  });
  refuseSharedPort(settings);
  return settings;
}

function refuseSharedPort(settings: LocalSettings): void {
  const owners = new Map<number, string>();
  for (const field of PORT_FIELDS) {
    const variable = portVariables[field];
    const other = owners.get(settings[field]);
    if (other !== undefined && settings[field] !== 0) {
      throw new Error(
        `${other} and ${variable} are both ${settings[field]}; set one of them to another port.`,
      );
    }
    owners.set(settings[field], variable);
  }
}

/** `NAME= npm start` means: not set. */
function withoutEmpty(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(environment).filter(([, value]) => value?.trim() !== ''));
}
