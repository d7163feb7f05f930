// What does the environment say about local mode? Read once, validated, frozen.

import { z } from 'zod';

const port = z.coerce.number().int().min(0).max(65_535);
const text = z.string().trim().min(1).optional();

const settingsSchema = z.object({
  PENSTOCK_PORT: port.default(8080),
  PENSTOCK_METRICS_PORT: port.default(9090),
  /** The quickstart manifests name this port. */
  PENSTOCK_SIMULATOR_PORT: port.default(9100),
  PENSTOCK_MANIFESTS: z.string().min(1).default('docs/examples/quickstart'),
  /** Keys and journal; made once and kept. */
  PENSTOCK_STATE_DIR: z.string().min(1).default('.penstock'),
  OPENAI_API_KEY: text,
  OPENAI_BASE_URL: text,
  ANTHROPIC_API_KEY: text,
  ANTHROPIC_BASE_URL: text,
});

export interface LocalSettings {
  readonly port: number;
  readonly metricsPort: number;
  readonly simulatorPort: number;
  readonly manifestsFolder: string;
  readonly stateFolder: string;
  readonly openAi: { readonly apiKey: string | undefined; readonly baseUrl: string | undefined };
  readonly anthropic: { readonly apiKey: string | undefined; readonly baseUrl: string | undefined };
}

/** @throws {Error} naming every variable that is wrong, and what it should be. */
export function readSettings(environment: NodeJS.ProcessEnv = process.env): LocalSettings {
  const parsed = settingsSchema.safeParse(withoutEmpty(environment));
  if (!parsed.success) {
    const faults = parsed.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`);
    throw new Error(`The environment does not fit: ${faults.join('; ')}`);
  }
  const { data } = parsed;
  return Object.freeze({
    port: data.PENSTOCK_PORT,
    metricsPort: data.PENSTOCK_METRICS_PORT,
    simulatorPort: data.PENSTOCK_SIMULATOR_PORT,
    manifestsFolder: data.PENSTOCK_MANIFESTS,
    stateFolder: data.PENSTOCK_STATE_DIR,
    openAi: { apiKey: data.OPENAI_API_KEY, baseUrl: data.OPENAI_BASE_URL },
    anthropic: { apiKey: data.ANTHROPIC_API_KEY, baseUrl: data.ANTHROPIC_BASE_URL },
  });
}

/** `NAME= npm start` means: not set. */
function withoutEmpty(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ''));
}
