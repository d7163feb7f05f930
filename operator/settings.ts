// What does the environment say? Read once, validated, frozen.

import { z } from 'zod';
import { parseAddressRules } from '../core/egress/address-rules.ts';
import { parseJson } from '../core/parse-json.ts';
import { anyAddress } from '../core/telemetry/process-server.ts';
import { readTelemetrySettings, type TelemetrySettings } from '../core/telemetry/settings.ts';
import { durationMs } from './resources/duration.ts';
import type { PlatformSettings } from './watch/snapshot.ts';

const LABEL = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
const mustBeNamespace = 'must be the name of a namespace, such as penstock-system';

const namespace = z.string(mustBeNamespace).max(63, mustBeNamespace).regex(LABEL, mustBeNamespace);
const port = z.coerce
  .number('must be a port number from 0 to 65535')
  .int('must be a port number from 0 to 65535')
  .min(0, 'must be a port number from 0 to 65535')
  .max(65_535, 'must be a port number from 0 to 65535');
const rate = z.coerce
  .number('must be a number above 0')
  .positive('must be a number above 0')
  .max(10_000, 'must be at most 10000');

/** Names with commas between them; nothing is an empty list. */
const namespaceList = z
  .string()
  .default('')
  .transform((text) => text.split(',').flatMap((name) => (name.trim() === '' ? [] : [name.trim()])))
  .superRefine((names, context) => {
    for (const name of names) {
      if (name.length <= 63 && LABEL.test(name)) continue;
      context.addIssue({
        code: 'custom',
        message: `must be names of namespaces, separated by commas; "${name}" is not a namespace name`,
      });
    }
  })
  .transform((names) => [...new Set(names)]);

const PREFIX = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;

const metadataPrefixes = z
  .string()
  .default('')
  .transform((text) => text.split(',').flatMap((prefix) => prefix.trim() || []))
  .refine(
    (prefixes) =>
      prefixes.every((prefix) => prefix.length <= 253 && PREFIX.test(prefix) && prefix !== 'penstock.dev'),
    'must be prefixes of labels, separated by commas, such as reloader.example.com; penstock.dev is for the operator',
  );

const egressDeny = z
  .string()
  .default('')
  .transform((text, context): readonly string[] => {
    const cidrs = text.split(',').flatMap((cidr) => cidr.trim() || []);
    try {
      parseAddressRules([], cidrs);
      return cidrs;
    } catch (error) {
      context.addIssue({ code: 'custom', message: error instanceof Error ? error.message : String(error) });
      return z.NEVER;
    }
  });

const networkPolicyRanges = z
  .string()
  .optional()
  .transform((text, context): readonly string[] | undefined => {
    const parsed = z
      .array(z.union([z.cidrv4(), z.cidrv6()]))
      .optional()
      .safeParse(text && parseJson(text));
    if (parsed.success) return parsed.data;
    context.addIssue({ code: 'custom', message: 'must be a JSON list of ranges, such as ["10.20.0.0/16"]' });
    return z.NEVER;
  });

const holdMsMax = 168 * 3_600_000;

const settingsSchema = z.object({
  /** Names all that belongs to this installation of the table. */
  PENSTOCK_INSTANCE: z
    .string()
    .max(40, 'must be at most 40 characters')
    .regex(LABEL, 'must be a lower-case DNS label such as penstock')
    .default('penstock'),
  /** Where operator and gateways run; the Lease is there. */
  PENSTOCK_NAMESPACE: namespace,
  /** Where the table lies, and nothing else. */
  PENSTOCK_TABLE_NAMESPACE: namespace,
  /** Label selector of the gateway Pods. */
  PENSTOCK_GATEWAY_SELECTOR: z
    .string('must be a label selector, such as app.kubernetes.io/component=gateway')
    .trim()
    .min(1, 'must not be empty: it would select every Pod'),
  /** Tells this replica from the others, in the Lease and in events. */
  PENSTOCK_POD_NAME: z.string('must be the name of this Pod').min(1, 'must be the name of this Pod').max(253),
  PENSTOCK_SERVICE_PREFIX: z
    .string()
    .regex(/^[a-z0-9][-a-z0-9._]*$/, 'must be lower-case letters, digits, -, . and _, such as penstock')
    .max(63)
    .default('penstock'),
  PENSTOCK_KEY_PREFIX: z
    .string()
    .regex(/^[A-Za-z0-9_-]{1,16}$/, 'must be 1 to 16 letters, digits, _ and -, such as psk_')
    .default('psk_'),
  /** Prefixes that labels and annotations for Secrets with issued keys may have, separated by commas. */
  PENSTOCK_SECRET_METADATA_PREFIXES: metadataPrefixes,
  /** File with the TenantPolicies of the chart's values; nothing: there are none. */
  PENSTOCK_TENANT_POLICIES_FILE: z.string().optional(),
  /** Ranges that the chart's NetworkPolicies open on every port, as a JSON list; nothing: there are none of these policies. */
  PENSTOCK_NETWORK_POLICY_RANGES: networkPolicyRanges,
  /** Ranges of public space that gateways must not reach either, separated by commas. */
  PENSTOCK_EGRESS_DENY: egressDeny,
  /** The gateways keep limits in a store that they share. */
  PENSTOCK_LIMITS_IN_STORE: z.enum(['true', 'false'], 'must be true or false').default('false'),
  /** Empty: the whole cluster. */
  PENSTOCK_TENANT_NAMESPACES: namespaceList,
  /** How long the last known good form of a Provider or ModelRoute serves in place of an invalid one. */
  PENSTOCK_LAST_KNOWN_GOOD: z
    .string()
    .default('1h')
    .transform((text, context) => {
      const milliseconds = durationMs(text);
      if (milliseconds !== undefined && milliseconds <= holdMsMax) return milliseconds;
      context.addIssue({
        code: 'custom',
        message: 'must be a duration of at most 168h, such as 1h; 0s holds nothing',
      });
      return z.NEVER;
    }),
  /** Written beside every issued key. */
  PENSTOCK_BASE_URL: z.url({
    protocol: /^https?$/,
    error: 'must be the address of the gateways as callers write it, such as http://penstock.example/v1',
  }),
  /** Of the ledger, as its Service has it; what keys have spent is not written without it. */
  PENSTOCK_LEDGER_ADDRESS: z
    .url({ protocol: /^http$/, error: 'must be an http address, such as http://penstock-ledger' })
    .optional(),
  /** The same over TLS. */
  PENSTOCK_LEDGER_TLS_ADDRESS: z
    .url({
      protocol: /^https$/,
      error: 'must be an https address, such as https://penstock-ledger.penstock-system.svc',
    })
    .optional(),
  /** Gateways and ledger are asked over TLS, with certificates that this operator makes. */
  PENSTOCK_INTERNAL_TLS: z.enum(['true', 'false'], 'must be true or false').default('false'),
  /** Address of metrics and health. */
  PENSTOCK_HOST: z
    .string()
    .min(1)
    .default(() => anyAddress()),
  PENSTOCK_METRICS_PORT: port.default(9090),
  /** Calls a second to the API server, and how many may follow each other at once. */
  PENSTOCK_KUBE_QPS: rate.default(200),
  PENSTOCK_KUBE_BURST: z.coerce
    .number('must be a whole number from 1')
    .int('must be a whole number from 1')
    .min(1, 'must be a whole number from 1')
    .max(10_000, 'must be at most 10000')
    .default(200),
  /** Outside a cluster. */
  KUBECONFIG: z.string().optional(),
});

/** The variables that are read. */
export const settingNames: readonly string[] = Object.keys(settingsSchema.shape);

export interface OperatorSettings {
  readonly instance: string;
  readonly namespace: string;
  readonly tableNamespace: string;
  readonly gatewaySelector: string;
  readonly podName: string;
  readonly platform: PlatformSettings;
  /** File with TenantPolicies; undefined without one. */
  readonly policiesFile?: string | undefined;
  /** What NetworkPolicies let pass on every port; undefined without them. */
  readonly networkPolicyRanges?: readonly string[] | undefined;
  /** Empty: the whole cluster. */
  readonly tenantNamespaces: readonly string[];
  /** 0: nothing is held. */
  readonly lastKnownGoodMs: number;
  readonly baseUrl: string;
  /** Undefined: there is no ledger. */
  readonly ledgerAddress?: string | undefined;
  /** Undefined: the ledger is asked in plain HTTP. */
  readonly ledgerTlsAddress?: string | undefined;
  /** Gateways and ledger speak TLS with this operator and with each other. */
  readonly hasInternalTls: boolean;
  readonly host: string;
  readonly metricsPort: number;
  readonly kubeCallsPerSecond: number;
  readonly kubeCallsBurst: number;
  /** Undefined: the service account of the Pod. */
  readonly kubeconfig: string | undefined;
  /** Where metrics are sent beside being pulled; undefined: nowhere. */
  readonly telemetry?: TelemetrySettings | undefined;
}

/** @throws {Error} naming every variable that is missing or wrong, and what it should be. */
export function readSettings(environment: NodeJS.ProcessEnv = process.env): OperatorSettings {
  const parsed = settingsSchema.safeParse(withoutEmpty(environment));
  if (!parsed.success) {
    const faults = parsed.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`);
    throw new Error(`Invalid environment: ${faults.join('; ')}`);
  }
  const { data } = parsed;
  return Object.freeze({
    instance: data.PENSTOCK_INSTANCE,
    namespace: data.PENSTOCK_NAMESPACE,
    tableNamespace: data.PENSTOCK_TABLE_NAMESPACE,
    gatewaySelector: data.PENSTOCK_GATEWAY_SELECTOR,
    podName: data.PENSTOCK_POD_NAME,
    platform: Object.freeze({
      servicePrefix: data.PENSTOCK_SERVICE_PREFIX,
      keyPrefix: data.PENSTOCK_KEY_PREFIX,
      platformNamespaces: [],
      metadataPrefixes: data.PENSTOCK_SECRET_METADATA_PREFIXES,
      egressAllow: [],
      egressDeny: data.PENSTOCK_EGRESS_DENY,
      hasExactLimits: data.PENSTOCK_LIMITS_IN_STORE === 'true',
    }),
    policiesFile: data.PENSTOCK_TENANT_POLICIES_FILE,
    networkPolicyRanges: data.PENSTOCK_NETWORK_POLICY_RANGES,
    tenantNamespaces: data.PENSTOCK_TENANT_NAMESPACES,
    lastKnownGoodMs: data.PENSTOCK_LAST_KNOWN_GOOD,
    baseUrl: data.PENSTOCK_BASE_URL,
    ledgerAddress: data.PENSTOCK_LEDGER_ADDRESS,
    ledgerTlsAddress: data.PENSTOCK_LEDGER_TLS_ADDRESS,
    hasInternalTls: data.PENSTOCK_INTERNAL_TLS === 'true',
    host: data.PENSTOCK_HOST,
    metricsPort: data.PENSTOCK_METRICS_PORT,
    kubeCallsPerSecond: data.PENSTOCK_KUBE_QPS,
    kubeCallsBurst: data.PENSTOCK_KUBE_BURST,
    kubeconfig: data.KUBECONFIG,
    telemetry: readTelemetrySettings(environment, 'penstock-operator'),
  });
}

/** A chart writes every variable, also those that it has no value for. */
function withoutEmpty(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(environment).filter(([, value]) => value?.trim() !== ''));
}
