// What do the pages read of the objects of Kubernetes? No more than is shown; their other fields stay untouched.

import type { LimitMember } from './choices.ts';

export interface Condition {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason: string;
  readonly message: string;
  readonly lastTransitionTime: string;
  readonly observedGeneration?: number;
}

interface Meta {
  readonly name: string;
  readonly namespace: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly generation?: number;
  readonly creationTimestamp?: string;
  readonly annotations?: Readonly<Record<string, string>>;
}

export interface CommonStatus {
  /** When the state ends without action; only some states do. */
  readonly until?: string;
  readonly observedGeneration?: number;
  readonly conditions?: readonly Condition[];
  readonly programmed?: {
    readonly tableGeneration?: number;
    readonly runningPods?: number;
    readonly readyPods?: number;
    readonly observedAt?: string;
  };
}

export interface KubeObject {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: Meta;
  readonly spec: object;
  readonly status?: CommonStatus;
}

export interface Import {
  readonly sha256: string;
  readonly hint?: string;
  readonly notAfter?: string;
}

export interface Budget {
  readonly period: 'Day' | 'Week' | 'Month' | 'Total';
  readonly limit: string;
  readonly action?: 'Block' | 'Warn';
  readonly warnPercent?: number;
}

export type Limits = { readonly [Member in LimitMember]?: number };

export interface ApiKey extends KubeObject {
  readonly spec: {
    readonly displayName?: string;
    readonly owner?: { readonly name?: string; readonly email?: string; readonly team?: string };
    readonly disabled?: boolean;
    readonly expiresAt?: string;
    readonly imports?: readonly Import[];
    readonly secret?: { readonly name?: string; readonly key?: string };
    readonly rotation?: { readonly interval?: string; readonly overlap?: string; readonly trigger?: string };
    readonly models?: { readonly allow?: readonly string[]; readonly deny?: readonly string[] };
    readonly limits?: Limits;
    readonly budgets?: readonly Budget[];
  };
  readonly status?: CommonStatus & {
    readonly secretName?: string;
    readonly keyHint?: string;
    readonly expiresAt?: string;
    readonly nextRotationAt?: string;
    readonly versions?: readonly {
      readonly id: number;
      readonly fingerprint: string;
      readonly state: string;
      readonly createdAt?: string;
      readonly notAfter?: string;
    }[];
    readonly usage?: {
      readonly observedAt?: string;
      readonly lastUsedAt?: string;
      readonly spend?: string;
      readonly periods?: readonly {
        readonly period: string;
        readonly start?: string;
        readonly spend?: string;
        readonly limit?: string;
        readonly requests?: number;
        readonly inputTokens?: number;
        readonly outputTokens?: number;
      }[];
    };
  };
}

export interface AllowedNamespaces {
  readonly from?: 'Same' | 'All' | 'Selector';
  readonly names?: readonly string[];
  readonly selector?: object;
}

export interface Provider extends KubeObject {
  readonly spec: {
    readonly type: string;
    readonly displayName?: string;
    readonly baseURL?: string;
    readonly apis?: readonly string[];
    readonly options?: Readonly<Record<string, string>>;
    readonly suspended?: boolean;
    readonly auth?: Readonly<Record<string, unknown>> & {
      readonly type?: string;
      readonly keys?: readonly {
        readonly name: string;
        readonly secretRef?: { readonly name: string; readonly key: string };
        readonly weight?: number;
        readonly priority?: number;
      }[];
    };
    readonly tls?: {
      readonly caRef?: {
        readonly kind?: 'ConfigMap' | 'Secret';
        readonly name: string;
        readonly key?: string;
      };
    };
    readonly healthCheck?: {
      readonly active?: { readonly type?: string; readonly path?: string; readonly model?: string };
    };
    readonly allowedNamespaces?: AllowedNamespaces;
  };
  readonly status?: CommonStatus & {
    readonly endpoint?: string;
    readonly attachedRoutes?: number;
    readonly keys?: readonly {
      readonly name: string;
      readonly state: string;
      readonly fingerprint?: string;
      readonly lastTransitionTime?: string;
      readonly message?: string;
    }[];
    readonly health?: {
      readonly healthyPods?: number;
      readonly totalPods?: number;
      readonly lastTransitionTime?: string;
      readonly lastError?: string;
      readonly troubles?: readonly ProviderTrouble[];
    };
  };
}

export interface ProviderTrouble {
  readonly key?: string;
  readonly upstreamModel?: string;
  readonly reason: string;
  readonly podCount: number;
  readonly pods: readonly {
    readonly name: string;
    readonly sinceTime: string;
    readonly nextTryTime?: string;
  }[];
}

export interface ModelRoute extends KubeObject {
  readonly spec: {
    readonly model: string;
    readonly aliases?: readonly string[];
    readonly displayName?: string;
    readonly visibility?: string;
    readonly allowedNamespaces?: AllowedNamespaces;
    readonly pricing?: {
      readonly inputPerMillion?: string;
      readonly outputPerMillion?: string;
      readonly perRequest?: string;
      readonly provisioned?: boolean;
    };
    readonly suspended?: boolean;
    readonly drill?: {
      readonly schedule?: string;
      readonly fault?: string;
      readonly takeoverWithin?: string;
    };
    readonly targets: readonly {
      readonly name: string;
      readonly providerRef: { readonly name: string; readonly namespace?: string };
      readonly upstreamModel: string;
      readonly priority?: number;
      readonly weight?: number;
    }[];
  };
  readonly status?: CommonStatus & {
    readonly usableTargets?: number;
    readonly totalTargets?: number;
    readonly conflictsWith?: { readonly namespace: string; readonly name: string };
    readonly targets?: readonly {
      readonly name: string;
      readonly state: string;
      readonly message?: string;
      readonly lastTransitionTime?: string;
    }[];
    readonly drill?: {
      readonly lastRunTime?: string;
      readonly result?: 'Passed' | 'Failed' | 'NotRun';
      readonly takeover?: string;
      readonly servedBy?: string;
      readonly message?: string;
      readonly nextRunTime?: string;
    };
  };
}

export const KINDS = {
  apikeys: 'ApiKey',
  providers: 'Provider',
  modelroutes: 'ModelRoute',
} as const;
export type Plural = keyof typeof KINDS;
