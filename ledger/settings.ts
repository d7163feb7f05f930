// What does the environment say? Read once, validated, frozen.

import { z } from 'zod';
import { anyAddress } from '../core/telemetry/process-server.ts';
import { readTelemetrySettings, type TelemetrySettings } from '../core/telemetry/settings.ts';

const LABEL = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
const mustBeNamespace = 'must be the name of a namespace, such as penstock-system';
const namespace = z.string(mustBeNamespace).max(63, mustBeNamespace).regex(LABEL, mustBeNamespace);
const mustBePort = 'must be a port number from 0 to 65535';
const port = z.coerce.number(mustBePort).int(mustBePort).min(0, mustBePort).max(65_535, mustBePort);
const daysMax = 36_500;
const mustBeDays = `must be a whole number of days from 0 (for ever) to ${daysMax}`;
/** A token that is not valid in a header would come back, in full, in the error of the HTTP client. */
const bearer = z
  .string()
  .regex(/^[\x21-\x7e]+$/, 'holds a character that no token has, such as a line break');

/** Where the ledger is: also for a command beside the process that serves it. */
const storeSchema = {
  /** SQLite; made where it is missing. */
  PENSTOCK_LEDGER_FILE: z.string().min(1).default('/var/lib/penstock/ledger.sqlite'),
  /** Postgres instead. */
  PENSTOCK_LEDGER_URL: z
    .string()
    .regex(/^postgres(ql)?:\/\//, 'must be a postgres:// address')
    .refine((text) => URL.canParse(text), 'must be an address; write special characters of a password as %XX')
    .optional(),
};

const settingsSchema = z.object({
  ...storeSchema,
  /** Names all that belongs to this installation of the table. */
  PENSTOCK_INSTANCE: z
    .string()
    .max(40, 'must be at most 40 characters')
    .regex(LABEL, 'must be a lower-case DNS label such as penstock')
    .default('penstock'),
  /** Where the gateways run. */
  PENSTOCK_NAMESPACE: namespace,
  /** Where the pointer Secret is, with the token for their journals. */
  PENSTOCK_TABLE_NAMESPACE: namespace,
  /** Label selector of the gateway Pods. */
  PENSTOCK_GATEWAY_SELECTOR: z
    .string('must be a label selector, such as app.kubernetes.io/component=gateway')
    .trim()
    .min(1, 'must not be empty: it would select every Pod'),
  /** Namespaces whose ApiKeys are followed for their budgets; empty: the whole cluster. */
  PENSTOCK_TENANT_NAMESPACES: z
    .string()
    .default('')
    .transform((text) => text.split(',').flatMap((name) => name.trim() || []))
    .pipe(z.array(namespace)),
  /** Gateways keep budgets together. */
  PENSTOCK_LIMITS_IN_STORE: z.enum(['true', 'false'], 'must be true or false').default('false'),
  /** Records of older days go; their sums stay. */
  PENSTOCK_LEDGER_RETENTION_DAYS: z.coerce
    .number(mustBeDays)
    .int(mustBeDays)
    .min(0, mustBeDays)
    .max(daysMax, mustBeDays)
    .default(90),
  /** Where every record is sent, as CloudEvents. */
  PENSTOCK_LEDGER_EVENTS_URL: z
    .url({ protocol: /^https?$/, error: 'must be an http or https address' })
    .optional(),
  /** Bearer for it. */
  PENSTOCK_LEDGER_EVENTS_TOKEN: bearer.optional(),
  PENSTOCK_HOST: z
    .string()
    .min(1)
    .default(() => anyAddress()),
  /** Of the read API. */
  PENSTOCK_PORT: port.default(8080),
  /** Of the read API over TLS; without it, it is answered in plain HTTP alone. */
  PENSTOCK_TLS_PORT: port.optional(),
  /** Whether pods of a release without TLS may ask too; false: plain HTTP is answered on loopback alone. */
  PENSTOCK_INTERNAL_PLAIN: z.enum(['true', 'false'], 'must be true or false').default('true'),
  PENSTOCK_METRICS_PORT: port.default(9090),
  /** Outside a cluster. */
  KUBECONFIG: z.string().optional(),
});

/** The variables that are read. */
export const settingNames: readonly string[] = Object.keys(settingsSchema.shape);

/** A file of SQLite, or an address of Postgres, which holds a password. */
export type StorePlace =
  | { readonly type: 'sqlite'; readonly path: string }
  | { readonly type: 'postgres'; readonly url: string };

export interface LedgerSettings {
  readonly store: StorePlace;
  readonly instance: string;
  readonly namespace: string;
  readonly tableNamespace: string;
  readonly gatewaySelector: string;
  /** None: all. */
  readonly tenantNamespaces: readonly string[];
  readonly hasLimitStore: boolean;
  /** 0: records are kept for ever. */
  readonly retentionDays: number;
  readonly events: { readonly url: string; readonly token: string | undefined } | undefined;
  readonly host: string;
  readonly port: number;
  /** Undefined: no TLS. */
  readonly tlsPort: number | undefined;
  readonly hasPlain: boolean;
  readonly metricsPort: number;
  /** Where metrics are sent besides, by the variables of OpenTelemetry; undefined: nowhere. */
  readonly telemetry?: TelemetrySettings | undefined;
  /** Undefined: the service account of the Pod. */
  readonly kubeconfig: string | undefined;
}

/** @throws {Error} naming every variable that is missing or wrong, and what it should be; never with its value. */
export function readSettings(environment: NodeJS.ProcessEnv = process.env): LedgerSettings {
  const data = parse(settingsSchema, environment);
  const { PENSTOCK_LEDGER_EVENTS_URL: eventsUrl } = data;
  return Object.freeze({
    store: storeOf(data),
    instance: data.PENSTOCK_INSTANCE,
    namespace: data.PENSTOCK_NAMESPACE,
    tableNamespace: data.PENSTOCK_TABLE_NAMESPACE,
    gatewaySelector: data.PENSTOCK_GATEWAY_SELECTOR,
    tenantNamespaces: data.PENSTOCK_TENANT_NAMESPACES,
    hasLimitStore: data.PENSTOCK_LIMITS_IN_STORE === 'true',
    retentionDays: data.PENSTOCK_LEDGER_RETENTION_DAYS,
    events:
      eventsUrl === undefined ? undefined : { url: eventsUrl, token: data.PENSTOCK_LEDGER_EVENTS_TOKEN },
    host: data.PENSTOCK_HOST,
    port: data.PENSTOCK_PORT,
    tlsPort: data.PENSTOCK_TLS_PORT,
    hasPlain: data.PENSTOCK_INTERNAL_PLAIN === 'true',
    metricsPort: data.PENSTOCK_METRICS_PORT,
    telemetry: readTelemetrySettings(environment, 'penstock-ledger'),
    kubeconfig: data.KUBECONFIG,
  });
}

/** @throws as `readSettings`. */
export function readStorePlace(environment: NodeJS.ProcessEnv = process.env): StorePlace {
  return storeOf(parse(z.object(storeSchema), environment));
}

/** Undefined where the environment is of none, as on a laptop. @throws as `readSettings`. */
export function readInstallation(
  environment: NodeJS.ProcessEnv = process.env,
): Pick<LedgerSettings, 'namespace' | 'instance'> | undefined {
  const schema = settingsSchema.pick({ PENSTOCK_INSTANCE: true, PENSTOCK_NAMESPACE: true });
  const data = parse(schema.partial({ PENSTOCK_NAMESPACE: true }), environment);
  const { PENSTOCK_INSTANCE: instance, PENSTOCK_NAMESPACE: namespace } = data;
  return namespace === undefined ? undefined : { namespace, instance };
}

function storeOf(data: {
  PENSTOCK_LEDGER_FILE: string;
  PENSTOCK_LEDGER_URL?: string | undefined;
}): StorePlace {
  const { PENSTOCK_LEDGER_FILE: path, PENSTOCK_LEDGER_URL: url } = data;
  return url === undefined ? { type: 'sqlite', path } : { type: 'postgres', url };
}

function parse<T>(schema: z.ZodType<T>, environment: NodeJS.ProcessEnv): T {
  const parsed = schema.safeParse(withoutEmpty(environment));
  if (parsed.success) return parsed.data;
  const faults = parsed.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`);
  throw new Error(`Invalid environment: ${faults.join('; ')}`);
}

/** A chart writes every variable, also those that it has no value for. */
function withoutEmpty(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(environment).filter(([, value]) => value?.trim() !== ''));
}
