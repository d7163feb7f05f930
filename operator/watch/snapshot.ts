// What did one run of the operator read? Everything, as one plain value; the compile sees nothing else.

import type { CloudName } from '../../core/catalog/clouds.ts';
import type { BudgetPeriod } from '../../core/contract/budget.ts';
import type { RateLimits } from '../../core/contract/routing-table.ts';
import type { Problem } from '../resources/problems.ts';
import type { TenantPolicySpec } from '../resources/tenant-policy.ts';

/**
 * One of our objects as it was read: unchecked but for its place. An object that did not change keeps its
 * identity from one snapshot to the next, which is how the compile knows that it need not look again.
 */
export interface RawObject {
  readonly metadata: {
    readonly namespace: string;
    readonly name: string;
    readonly [field: string]: unknown;
  };
  readonly [field: string]: unknown;
}

/** The same of a kind without namespaces. */
export interface RawPolicy {
  readonly metadata: { readonly name: string; readonly [field: string]: unknown };
  readonly [field: string]: unknown;
}

/** A Secret with its data decoded. Keeps its identity while it does not change. */
export interface SecretRecord {
  readonly namespace: string;
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  /** `Opaque` where the manifest names none, as the API server does it. */
  readonly type: string;
  readonly data: Readonly<Record<string, string>>;
  /** Only of Secrets with issued keys; left out without owners. */
  readonly owners?: readonly SecretOwner[];
  /** Only of Secrets with issued keys; RFC 3339. */
  readonly createdAt?: string;
}

/** An entry of `ownerReferences`. */
export interface SecretOwner {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly controller?: boolean;
  readonly blockOwnerDeletion?: boolean;
}

/** A ConfigMap that a Provider names. Keeps its identity while it does not change. */
export interface ConfigMapRecord {
  readonly namespace: string;
  readonly name: string;
  readonly data: Readonly<Record<string, string>>;
}

/** A namespace and its labels. Keeps its identity while they do not change. */
export interface NamespaceRecord {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
}

/** A key that worked for a namespace and left the table: no other namespace gets it. */
export interface RetiredKey {
  /** SHA-256 of the key, 64 lower-case hex digits. */
  readonly digest: string;
  readonly namespace: string;
  /** Unix milliseconds. */
  readonly retiredMs: number;
}

/** How much a whole namespace may spend in a period, all of its keys together, as the platform says it. */
export interface TenantBudget {
  readonly period: BudgetPeriod;
  /** Dollars as a decimal string, such as `100.00`, as in an ApiKey. */
  readonly limit: string;
  readonly action: 'Block' | 'Warn';
  readonly warnPercent: number;
}

export interface TenantBudgets {
  readonly namespace: string;
  /** Each period once for each action. */
  readonly budgets: readonly TenantBudget[];
}

/** How much may pass for the ApiKeys of a namespace together, as the platform says it. */
export interface TenantLimits {
  readonly namespace: string;
  readonly limits: RateLimits;
}

/** A TenantPolicy, and what holds of it. */
export interface CheckedPolicy {
  readonly object: RawPolicy;
  /** Faults of the present form; empty: it is in force. */
  readonly problems: readonly Problem[];
  /** The spec in force; undefined: none of it. */
  readonly spec: TenantPolicySpec | undefined;
  /** metadata.generation of an earlier form that is in force; undefined: of the present one, those parts that can be read. */
  readonly heldGeneration?: number | undefined;
}

/** What the platform team decides for the whole installation. */
export interface PlatformSettings {
  /** Models of the service itself are named `<servicePrefix>/…`. */
  readonly servicePrefix: string;
  /** Every key begins with it. */
  readonly keyPrefix: string;
  /** Namespaces that may use the service prefix and share with others. */
  readonly platformNamespaces: readonly string[];
  /** Address ranges, normally refused, that named namespaces may reach (`*`: all). */
  readonly egressAllow: readonly { readonly cidr: string; readonly namespaces: readonly string[] }[];
  /** Ranges of public space that are refused like private ones: of Pods, Services, nodes and the API server. */
  readonly egressDeny?: readonly string[];
  /** Prefixes that labels and annotations for Secrets with issued keys may have, beside `app.kubernetes.io`. */
  readonly metadataPrefixes?: readonly string[];
  /** The gateways keep limits together, in a store; absent: each of them its share. */
  readonly hasExactLimits?: boolean;
  /** What the ApiKeys of a namespace may spend together, each namespace once; no user of the namespace can change it. */
  readonly tenantBudgets?: readonly TenantBudgets[];
  /** Each namespace once; no user of the namespace can change it. */
  readonly tenantLimits?: readonly TenantLimits[];
  /** Prefixes of model ids beside the service prefix, and the namespaces that may use them (`*`: all); platform namespaces may too. */
  readonly reservedPrefixes?: readonly { readonly prefix: string; readonly namespaces: readonly string[] }[];
  /** Clouds whose identity of the gateway namespaces may use (`*`: all), through `roles` alone where there are any; platform namespaces may too. */
  readonly cloudIdentities?: readonly CloudIdentityRight[];
}

export interface CloudIdentityRight {
  readonly type: CloudName;
  /** A role, or the beginning of roles with a `*` at its end; absent: any, and none. */
  readonly roles?: readonly string[];
  readonly namespaces: readonly string[];
}

/** In every list, namespace and name stand at most once together; the order means nothing. */
export interface Snapshot {
  readonly providers: readonly RawObject[];
  readonly modelRoutes: readonly RawObject[];
  readonly apiKeys: readonly RawObject[];
  readonly secrets: readonly SecretRecord[];
  /** The ConfigMaps that Providers name. */
  readonly configMaps: readonly ConfigMapRecord[];
  readonly namespaces: readonly NamespaceRecord[];
  /** Each digest once. Absent: none. */
  readonly retiredKeys?: readonly RetiredKey[];
  /** By name; absent: none. */
  readonly policies?: readonly CheckedPolicy[];
  /** With what TenantPolicies say. */
  readonly platform: PlatformSettings;
}
