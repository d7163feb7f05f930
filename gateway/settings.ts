// What does the environment say? Read once, validated, frozen.

import { z } from 'zod';

const port = z.coerce.number().int().min(0).max(65_535);
const milliseconds = z.coerce.number().int().min(0);

const settingsSchema = z.object({
  /** Address and port of the client-facing server. */
  PENSTOCK_HOST: z.string().min(1).default('0.0.0.0'),
  PENSTOCK_PORT: port.default(8080),
  /** Port of metrics and health, on the same address. */
  PENSTOCK_METRICS_PORT: port.default(9090),
  /** The routing table as a file; replaced by renaming a new one over it. */
  PENSTOCK_TABLE_FILE: z.string().min(1),
  /** Folder of the ledger journal. */
  PENSTOCK_JOURNAL_DIR: z.string().min(1),
  /** How long a draining gateway keeps accepting, until every load balancer has heard of it. */
  PENSTOCK_DRAIN_ACCEPT_MS: milliseconds.default(10_000),
  /** How long running streams may take to end after that. */
  PENSTOCK_DRAIN_GRACE_MS: milliseconds.default(600_000),
  /** Whether answers name the provider that served them. */
  PENSTOCK_SHOW_PROVIDER: z.enum(['true', 'false']).default('true'),
});

export interface GatewaySettings {
  readonly host: string;
  readonly port: number;
  readonly metricsPort: number;
  readonly tableFile: string;
  readonly journalFolder: string;
  readonly drainAcceptMs: number;
  readonly drainGraceMs: number;
  readonly showProvider: boolean;
}

/** @throws {Error} naming every variable that is missing or wrong, and what it should be. */
export function readSettings(environment: NodeJS.ProcessEnv = process.env): GatewaySettings {
  const parsed = settingsSchema.safeParse(environment);
  if (!parsed.success) {
    const faults = parsed.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`);
    throw new Error(`The environment does not fit: ${faults.join('; ')}`);
  }
  const { data } = parsed;
  return Object.freeze({
    host: data.PENSTOCK_HOST,
    port: data.PENSTOCK_PORT,
    metricsPort: data.PENSTOCK_METRICS_PORT,
    tableFile: data.PENSTOCK_TABLE_FILE,
    journalFolder: data.PENSTOCK_JOURNAL_DIR,
    drainAcceptMs: data.PENSTOCK_DRAIN_ACCEPT_MS,
    drainGraceMs: data.PENSTOCK_DRAIN_GRACE_MS,
    showProvider: data.PENSTOCK_SHOW_PROVIDER === 'true',
  });
}
