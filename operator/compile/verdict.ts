// The verdict on one object: its conditions, and the details in its status.
//
// Programmed, Ready and Healthy are not here: they depend on the gateway pods, which the compilation does not see.

import type { ConditionType, Reason } from '../../core/catalog/conditions.ts';
import type { ModelRouteStatus } from '../resources/model-route.ts';
import type { ProviderStatus } from '../resources/provider.ts';
import type { Drill } from './drill.ts';

export interface Condition {
  readonly type: ConditionType;
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason: Reason;
  /** The thing, the fact and the way out. Empty where all is well. */
  readonly message: string;
}

interface VerdictBase {
  readonly namespace: string;
  readonly name: string;
  /** metadata.generation that was judged. */
  readonly generation?: number;
  readonly conditions: readonly Condition[];
  /** True where the table carries this object. */
  readonly isInTable: boolean;
  /** The table carries it in an earlier form, because the present one cannot be served; the conditions speak of the present one. */
  readonly held?: HeldForm;
}

/** All times in Unix milliseconds, at whole seconds, as a status can say them. */
export interface HeldForm {
  readonly sinceMs: number;
  /** Then it leaves service. */
  readonly untilMs: number;
  /** metadata.generation of the form that is served, as far as it is known. */
  readonly generation?: number;
}

export type KeyState = NonNullable<ProviderStatus['keys']>[number]['state'];
export type TargetState = NonNullable<ModelRouteStatus['targets']>[number]['state'];

export interface ProviderVerdict extends VerdictBase {
  readonly kind: 'Provider';
  readonly endpoint?: string;
  /** Gateways exchange its credentials, and report what came of that. */
  readonly isExchanged?: true;
  readonly attachedRoutes: number;
  readonly keys: readonly {
    readonly name: string;
    readonly state: KeyState;
    readonly fingerprint?: string;
    readonly message?: string;
  }[];
}

export interface ModelRouteVerdict extends VerdictBase {
  readonly kind: 'ModelRoute';
  readonly targets: readonly {
    readonly name: string;
    readonly state: TargetState;
    readonly message?: string;
    /** Where it is in use: the Provider, as `namespace/name`, and the model there. */
    readonly upstream?: { readonly provider: string; readonly model: string };
  }[];
  /** The older ModelRoute that holds the id; only where this namespace may know of it. */
  readonly conflictsWith?: { readonly namespace: string; readonly name: string };
  /** To be run of it; only where its present form is served. */
  readonly drill?: Drill;
}

export interface ApiKeyVerdict extends VerdictBase {
  readonly kind: 'ApiKey';
  /** The Secret with the key; absent with imports. */
  readonly secretName?: string;
  /** True where that Secret does not exist and the operator shall write it. */
  readonly needsSecret: boolean;
  readonly keyHint?: string;
  readonly versions: readonly {
    /** Absent for a key without a version number. */
    readonly id?: number;
    readonly fingerprint: string;
    readonly state: 'Active' | 'Retiring' | 'Expired';
    readonly createdAt?: string;
    readonly notAfter?: string;
  }[];
  /** SHA-256 of the key that takes over as soon as every gateway knows it; only where the table carries it. */
  readonly next?: string;
  /** The rotation trigger that was acted on last. */
  readonly observedTrigger?: string;
  /** When the last key stops working. */
  readonly expiresAt?: string;
  /** When the next key is made. */
  readonly nextRotationAt?: string;
}

export type RoutingVerdict = ProviderVerdict | ModelRouteVerdict;
export type Verdict = RoutingVerdict | ApiKeyVerdict;

/** One violation: the reason that names it, and the sentence for the user. */
export interface Finding {
  readonly reason: Reason;
  readonly message: string;
}

/** Without a message the same value each time: most ApiKeys say nothing else, and there are many. */
export function holds(type: ConditionType, reason: Reason, message = ''): Condition {
  if (message !== '') return { type, status: 'True', reason, message };
  const name = `${type} ${reason}`;
  const known = plainlyTrue.get(name);
  if (known !== undefined) return known;
  const condition = Object.freeze({ type, status: 'True', reason, message } as const);
  plainlyTrue.set(name, condition);
  return condition;
}

const plainlyTrue = new Map<string, Condition>();

export function fails(type: ConditionType, finding: Finding): Condition {
  return { type, status: 'False', ...finding };
}

export function notEvaluated(type: ConditionType): Condition {
  const message = 'not evaluated, because the object is not accepted; see the condition Accepted';
  return { type, status: 'Unknown', reason: 'NotEvaluated', message };
}

/** Several findings as one: the reason of the first, all the sentences. */
export function joined(first: Finding, rest: readonly Finding[]): Finding {
  return { reason: first.reason, message: [first, ...rest].map(({ message }) => message).join('. Also: ') };
}
