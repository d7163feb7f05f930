// What can a condition say? Every type and every reason, one sentence each; they are API.

import type { Kind } from './resource.ts';

interface ConditionFacts {
  readonly kinds: readonly Kind[];
  /** `always`: there from the first run on. `when-true`: only there while it holds. */
  readonly shown: 'always' | 'when-true';
  readonly text: string;
}

const ALL: readonly Kind[] = ['Provider', 'ModelRoute', 'ApiKey'];

export const CONDITIONS = {
  Accepted: {
    kinds: ALL,
    shown: 'always',
    text: 'The object itself is right: every field is understood, acts in this version, and is allowed in its namespace.',
  },
  ResolvedRefs: {
    kinds: ['Provider', 'ModelRoute'],
    shown: 'always',
    text: 'What the object refers to is there and may be used: Secrets and the address of a Provider, Providers of a ModelRoute.',
  },
  Healthy: {
    kinds: ['Provider'],
    shown: 'always',
    text: 'The upstream answers. It is left out of Ready: an outage elsewhere is no fault of this object.',
  },
  Translatable: {
    kinds: ['ModelRoute'],
    shown: 'always',
    text: 'Every dialect in which the model is offered can be served by a target, with all of spec.capabilities.',
  },
  Priced: {
    kinds: ['ModelRoute'],
    shown: 'always',
    text: 'Every usable target has a price.',
  },
  Issued: {
    kinds: ['ApiKey'],
    shown: 'always',
    text: 'There is a key for this object.',
  },
  Programmed: {
    kinds: ALL,
    shown: 'always',
    text: 'Every ready gateway pod runs the present form of the object.',
  },
  Ready: {
    kinds: ALL,
    shown: 'always',
    text: 'Accepted, with its references resolved (or its key issued), Programmed, and not expired: the object is as its owner wishes. One that is suspended or disabled is Ready with that reason once every gateway pod has it out of service. While the last good form is held, it speaks of that one, and observedGeneration is its.',
  },
  Degraded: {
    kinds: ALL,
    shown: 'when-true',
    text: 'The object works, but not all of it, or not in its present form.',
  },
  Reconciling: {
    kinds: ALL,
    shown: 'when-true',
    text: 'Not Ready, but on its way: the operator or the gateways are at it (for 10 minutes at most), or something that it refers to may still come (for a minute). It has the reason of Ready.',
  },
  Stalled: {
    kinds: ALL,
    shown: 'when-true',
    text: 'Nothing will change until somebody acts: the object is not Ready, and this has the reason of Ready, or it serves in its last good form. Never together with Reconciling.',
  },
  Conflicted: {
    kinds: ['ModelRoute', 'ApiKey'],
    shown: 'when-true',
    text: 'Another object claims the same model id or the same key.',
  },
  Disabled: { kinds: ['ApiKey'], shown: 'when-true', text: 'The key is switched off by spec.disabled.' },
  Expired: {
    kinds: ['ApiKey'],
    shown: 'when-true',
    text: 'The key has reached its end; it no longer works.',
  },
  ExpiringSoon: { kinds: ['ApiKey'], shown: 'when-true', text: 'The key stops working within 7 days.' },
  BudgetExhausted: {
    kinds: ['ApiKey'],
    shown: 'when-true',
    text: 'A budget with the action Block is used up, of the key or of its namespace: calls are refused until its next period, or until it allows more. It is left out of Ready: the object is as its owner wishes.',
  },
} as const satisfies Record<string, ConditionFacts>;

export type ConditionType = keyof typeof CONDITIONS;

interface ReasonFacts {
  readonly conditions: readonly ConditionType[];
  readonly text: string;
}

export const REASONS = {
  Accepted: { conditions: ['Accepted'], text: 'Nothing is wrong with the object.' },
  Suspended: {
    conditions: ['Accepted', 'Ready'],
    text: 'Nothing is wrong with the object, and spec.suspended keeps it out of service.',
  },
  Invalid: {
    conditions: ['Accepted', 'Ready'],
    text: 'A field is missing, unknown or out of bounds; the message names each one.',
  },
  UnsupportedValue: {
    conditions: ['Accepted', 'Ready'],
    text: 'A field or value does not act in this version (or not for this type); remove it.',
  },
  NotPermitted: {
    conditions: ['Accepted', 'Ready'],
    text: 'Something only platform namespaces may ask for: sharing with other namespaces, or visibility Public.',
  },
  ReservedPrefix: {
    conditions: ['Accepted', 'Ready'],
    text: 'A model id begins with the service prefix, and the namespace is not one of the platform.',
  },
  ModelConflict: {
    conditions: ['Accepted', 'Conflicted', 'Ready'],
    text: 'Another ModelRoute holds the same model id for some of the same callers: it served it before this one asked for it, or nobody served it and it is older.',
  },
  NoUsableTarget: {
    conditions: ['Accepted', 'Ready'],
    text: 'No target of the ModelRoute can be used; status.targets says why for each.',
  },
  DigestConflict: {
    conditions: ['Accepted', 'Conflicted', 'Ready'],
    text: 'Two ApiKeys stand for the same key, or another namespace had it before. A key stays with the namespace for which it worked, also after it is deleted there; within a namespace, with the ApiKey for which it worked, else the older one.',
  },
  MetadataNotAllowed: {
    conditions: ['Degraded'],
    text: 'spec.secret asks for labels or annotations with prefixes that the platform has not allowed; they are not written to the Secret, and the key works.',
  },
  ResolvedRefs: { conditions: ['ResolvedRefs'], text: 'Everything referred to is there and may be used.' },
  SecretNotFound: {
    conditions: ['ResolvedRefs', 'Degraded', 'Ready'],
    text: 'A Secret does not exist in the namespace of the Provider.',
  },
  SecretNotOptedIn: {
    conditions: ['ResolvedRefs', 'Degraded', 'Ready'],
    text: 'A Secret lacks the label by which its owner lends it to Providers.',
  },
  SecretTypeNotAllowed: {
    conditions: ['ResolvedRefs', 'Degraded', 'Ready'],
    text: 'A Secret is of a type made for something else, such as a service account token, or a TLS key in place of an API key.',
  },
  LastKnownGood: {
    conditions: ['Degraded', 'Stalled'],
    text: 'The present form cannot be served, so the last good one serves on for a while; the message says why and until when.',
  },
  KeyNotFound: {
    conditions: ['ResolvedRefs', 'Degraded', 'Ready'],
    text: 'A Secret has no such key, or it is empty.',
  },
  SecretValueInvalid: {
    conditions: ['ResolvedRefs', 'Degraded', 'Ready'],
    text: 'The value in a Secret cannot stand in an HTTP header, or cannot be given to a proxy.',
  },
  HostNotAllowed: {
    conditions: ['ResolvedRefs', 'Degraded', 'Ready'],
    text: 'A Secret is not bound to the host of the Provider or of its proxy, so its value is not sent there.',
  },
  EndpointNotAllowed: {
    conditions: ['ResolvedRefs', 'Ready'],
    text: 'The address of the Provider, or of its proxy, is one that its namespace may not reach.',
  },
  CANotFound: {
    conditions: ['ResolvedRefs', 'Ready'],
    text: 'The ConfigMap or Secret with the certificate authority, or the key in it, does not exist in the namespace of the Provider.',
  },
  InvalidCertificate: {
    conditions: ['ResolvedRefs', 'Ready'],
    text: 'A certificate authority or client certificate cannot be read, is expired or not valid yet, or does not belong to its key.',
  },
  CertificateNotVerified: {
    conditions: ['Degraded'],
    text: 'spec.tls.insecureSkipVerify is true: whoever answers in place of the upstream is believed.',
  },
  NoUsableKey: {
    conditions: ['ResolvedRefs', 'Ready'],
    text: 'Every key of the Provider is disabled or drained.',
  },
  RefNotFound: {
    conditions: ['ResolvedRefs', 'Degraded', 'Ready'],
    text: 'A Provider does not exist in the namespace of the ModelRoute.',
  },
  RefNotPermitted: {
    conditions: ['ResolvedRefs', 'Degraded', 'Ready'],
    text: 'A Provider of another namespace does not exist there, or does not allow this one.',
  },
  ProviderNotReady: {
    conditions: ['ResolvedRefs', 'Degraded', 'Ready'],
    text: 'A Provider is there, but suspended, not accepted or without a usable key.',
  },
  TargetUnsupported: {
    conditions: ['Degraded', 'ResolvedRefs', 'Ready'],
    text: 'A target speaks no dialect that serves the ModelRoute with all of its capabilities, or not the one that it asks for.',
  },
  Native: {
    conditions: ['Translatable'],
    text: 'Every dialect offered is spoken by every usable target itself.',
  },
  Translated: {
    conditions: ['Translatable'],
    text: 'Some dialects are served through another one, with streams, tools, images, structured output and reasoning; the message names the pairs.',
  },
  Lossy: {
    conditions: ['Translatable'],
    text: 'Some dialects are served through another one that cannot carry everything; the message names what is lost or refused at which target.',
  },
  DialectImpossible: {
    conditions: ['Translatable'],
    text: 'No target can serve a dialect of spec.apis with all of spec.capabilities; the message names the dialect, the targets and what is impossible.',
  },
  Priced: {
    conditions: ['Priced'],
    text: 'Every usable target has a price; where it is a list price of the vendor, the message names the entry. It names the targets for which pricing of the route does not count.',
  },
  NoPrice: {
    conditions: ['Priced'],
    text: 'A target has no price that it or its route states and that counts, and no list price; its tokens are recorded, their cost stays unknown, or, with unpriced: Deny or a budget that blocks, it is not used.',
  },
  NotEvaluated: {
    conditions: ['ResolvedRefs', 'Translatable', 'Priced', 'Issued'],
    text: 'Not judged, because the object is not accepted.',
  },
  SecretCreated: { conditions: ['Issued'], text: 'The key is in its Secret.' },
  SecretPending: {
    conditions: ['Issued', 'Ready'],
    text: 'The Secret with the key does not exist yet; the operator writes it.',
  },
  SecretTaken: {
    conditions: ['Issued', 'Ready'],
    text: "A Secret of that name is there that is not this ApiKey's; it is never overwritten.",
  },
  KeyMalformed: {
    conditions: ['Issued', 'Ready'],
    text: 'What stands in the Secret is no key of this installation; delete the Secret to get a new one.',
  },
  Imported: { conditions: ['Issued'], text: 'The keys were made elsewhere and are known by their hash.' },
  DisabledBySpec: { conditions: ['Disabled', 'Ready'], text: 'spec.disabled is true.' },
  PastExpiry: {
    conditions: ['Expired', 'Ready'],
    text: 'spec.expiresAt, or notAfter of every import, has passed.',
  },
  NearExpiry: {
    conditions: ['ExpiringSoon'],
    text: 'The last key of this object stops working within 7 days.',
  },
  BudgetExhausted: {
    conditions: ['BudgetExhausted'],
    text: 'The spend of a period has reached its limit; the message names the period, the limit, the spend, and when it begins anew.',
  },
  Healthy: {
    conditions: ['Healthy'],
    text: 'Every gateway pod that used the upstream finds it working, or, where none used it lately, the check of the operator does.',
  },
  PartiallyHealthy: {
    conditions: ['Healthy'],
    text: "Calls of some gateway pods, or for some models, or the operator's check fail; others are answered.",
  },
  Unhealthy: {
    conditions: ['Healthy'],
    text: 'No gateway pod finds the upstream working, or no call was made and the check of the operator fails.',
  },
  AuthenticationFailed: { conditions: ['Healthy'], text: 'The upstream refuses every key.' },
  CredentialExhausted: {
    conditions: ['Healthy'],
    text: 'The account of every key is out of money, or of some, and the upstream refuses the others.',
  },
  NoTraffic: { conditions: ['Healthy'], text: 'Nothing is known: no call was made lately, and no check.' },
  Programmed: {
    conditions: ['Programmed', 'Ready'],
    text: 'Every ready gateway pod runs the present form.',
  },
  Pending: {
    conditions: ['Programmed', 'Ready'],
    text: 'Some ready gateway pod does not run the present form yet.',
  },
  Pinned: {
    conditions: ['Programmed', 'Ready'],
    text: 'Somebody has pinned the table to an earlier one, in which the object has another form, or none.',
  },
  NotProgrammed: {
    conditions: ['Programmed', 'Ready'],
    text: 'The object is not part of the table; its other conditions say why.',
  },
} as const satisfies Record<string, ReasonFacts>;

export type Reason = keyof typeof REASONS;
