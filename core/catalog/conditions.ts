// What can a condition say? One row for each type and each reason, which are API: a sentence for the reference, and words for the dashboard.

type Kind = 'Provider' | 'ModelRoute' | 'ApiKey' | 'TenantPolicy';
/** How a page shows it. */
type Tone = 'good' | 'busy' | 'warn' | 'bad' | 'off';

export interface ConditionFacts {
  readonly kinds: readonly Kind[];
  /** `always`: there from the first run on. `when-true`: only there while it holds. `exchanged`: of credentials that are exchanged. */
  readonly shown: 'always' | 'when-true' | 'exchanged';
  readonly text: string;
  readonly title: { readonly yes: string; readonly no: string };
  /** Tone of a condition that is bad news when true. */
  readonly tone?: Tone;
}

const ALL: readonly Kind[] = ['Provider', 'ModelRoute', 'ApiKey', 'TenantPolicy'];

/** In the order in which one reads them. */
export const CONDITIONS = {
  Ready: {
    kinds: ALL,
    shown: 'always',
    text: 'Accepted, references resolved (or key issued), Programmed, and not expired: the object works as specified. A suspended or disabled object is Ready with that reason once every gateway pod has stopped serving it. While the last good form serves, the condition and its observedGeneration describe that form.',
    title: { yes: 'Ready', no: 'Not ready' },
  },
  Accepted: {
    kinds: ALL,
    shown: 'always',
    text: 'The object is valid: every field is known, has an effect in this version, and is allowed in its namespace.',
    title: { yes: 'Valid', no: 'Invalid' },
  },
  ResolvedRefs: {
    kinds: ['Provider', 'ModelRoute'],
    shown: 'always',
    text: 'All references exist and may be used: Secrets and address of a Provider, Providers of a ModelRoute.',
    title: { yes: 'References resolved', no: 'Unresolved references' },
  },
  Issued: {
    kinds: ['ApiKey'],
    shown: 'always',
    text: 'The object has a key.',
    title: { yes: 'Key issued', no: 'No key yet' },
  },
  Programmed: {
    kinds: ALL,
    shown: 'always',
    text: 'Every ready gateway pod runs the current form of the object.',
    title: { yes: 'Live on every gateway', no: 'Not live everywhere' },
  },
  Healthy: {
    kinds: ['Provider'],
    shown: 'always',
    text: 'The upstream answers. Does not affect Ready: an upstream outage is not a fault of this object.',
    title: { yes: 'Upstream healthy', no: 'Upstream unhealthy' },
  },
  CredentialsValid: {
    kinds: ['Provider'],
    shown: 'exchanged',
    text: 'Gateways can sign requests: the token service of the cloud accepted the identity or credentials of the Provider. Only for Providers that sign in there. Does not affect Ready.',
    title: { yes: 'Signed in at the cloud', no: 'Not signed in' },
  },
  Translatable: {
    kinds: ['ModelRoute'],
    shown: 'always',
    text: 'Every dialect in which the model is offered can be served by a target, with all of spec.capabilities.',
    title: { yes: 'All dialects served', no: 'Dialect not served' },
  },
  Priced: {
    kinds: ['ModelRoute'],
    shown: 'always',
    text: 'Every usable target has a price.',
    title: { yes: 'Prices known', no: 'Price missing' },
  },
  Degraded: {
    kinds: ALL,
    shown: 'when-true',
    text: 'The object works in part, or in an earlier form.',
    title: { yes: 'Partly working', no: 'Not degraded' },
    tone: 'warn',
  },
  Conflicted: {
    kinds: ['ModelRoute', 'ApiKey'],
    shown: 'when-true',
    text: 'Another object claims the same model id or the same key.',
    title: { yes: 'Conflict', no: 'No conflict' },
    tone: 'bad',
  },
  Stalled: {
    kinds: ALL,
    shown: 'when-true',
    text: 'Action required: the object is not Ready, or serves in its last good form. Mirrors the reason of Ready. Never together with Reconciling.',
    title: { yes: 'Action needed', no: 'Not stalled' },
    tone: 'bad',
  },
  Reconciling: {
    kinds: ALL,
    shown: 'when-true',
    text: 'Progressing towards Ready: the operator or the gateways are working on it (for at most 10 minutes), or a reference may still appear (for a minute). Mirrors the reason of Ready.',
    title: { yes: 'In progress', no: 'Settled' },
    tone: 'busy',
  },
  Disabled: {
    kinds: ['ApiKey'],
    shown: 'when-true',
    text: 'The key is disabled by spec.disabled.',
    title: { yes: 'Disabled', no: 'Enabled' },
    tone: 'off',
  },
  Expired: {
    kinds: ['ApiKey'],
    shown: 'when-true',
    text: 'The key has expired and no longer works.',
    title: { yes: 'Expired', no: 'Not expired' },
    tone: 'bad',
  },
  ExpiringSoon: {
    kinds: ['ApiKey'],
    shown: 'when-true',
    text: 'The key expires within 7 days.',
    title: { yes: 'Expires soon', no: 'Not expiring soon' },
    tone: 'warn',
  },
  BudgetExhausted: {
    kinds: ['ApiKey', 'TenantPolicy'],
    shown: 'when-true',
    text: 'A budget with the action Block is used up, of the key or of a namespace of the TenantPolicy: calls are rejected until the next period, or until the budget is raised. Does not affect Ready.',
    title: { yes: 'Budget used up', no: 'Within budget' },
    tone: 'bad',
  },
} as const satisfies Record<string, ConditionFacts>;

export type ConditionType = keyof typeof CONDITIONS;

export interface ReasonFacts {
  readonly conditions: readonly ConditionType[];
  readonly text: string;
  /** In place of the title of its condition, where that has more than two sides. */
  readonly title?: string;
  /** Where it is neither plain good news nor plain bad news. */
  readonly tone?: Tone;
  /** The remedy. The message of the condition names the fault of this very object. */
  readonly wayOut?: string;
}

export const REASONS = {
  Accepted: {
    conditions: ['Accepted'],
    text: 'The object is valid.',
  },
  Suspended: {
    conditions: ['Accepted', 'Ready'],
    text: 'The object is valid, and spec.suspended keeps it out of service.',
    title: 'Suspended',
    tone: 'off',
    wayOut: 'Resume it, or remove spec.suspended, to return it to service.',
  },
  Invalid: {
    conditions: ['Accepted', 'Ready'],
    text: 'A field is missing, unknown or out of bounds; the message names each one.',
    wayOut: 'Correct the fields that the message names.',
  },
  UnsupportedValue: {
    conditions: ['Accepted', 'Ready'],
    text: 'A field or value has no effect in this version, or for this type.',
    wayOut: 'Remove the field: it has no effect in this version, or for this type.',
  },
  NotPermitted: {
    conditions: ['Accepted', 'Ready'],
    text: 'The object uses a right of platform namespaces: sharing with other namespaces, or visibility Public.',
    wayOut: 'Remove the field, or ask the platform team to share it from a platform namespace.',
  },
  IdentityNotAllowed: {
    conditions: ['Accepted', 'Ready'],
    text: 'The Provider has no keys, and its namespace may not use the identity of the gateway at this cloud, through this role or at this address.',
    wayOut: 'Set spec.auth.keys, or ask the platform team for cloudIdentities in a TenantPolicy.',
  },
  ReservedPrefix: {
    conditions: ['Accepted', 'Ready'],
    text: 'A model id begins with a prefix that is reserved for other namespaces.',
    wayOut: 'Choose another model id; the prefix is reserved.',
  },
  ModelConflict: {
    conditions: ['Accepted', 'Conflicted', 'Ready'],
    text: 'Another ModelRoute holds the model id for some of the same callers. The first to serve an id keeps it; if neither served it, the older one.',
    wayOut: 'Create this route with another model id, or remove one of the two.',
  },
  NoUsableTarget: {
    conditions: ['Accepted', 'Ready'],
    text: 'No target of the ModelRoute can be used; status.targets says why for each.',
    wayOut: 'Check the targets: each says why it is not in use.',
  },
  DigestConflict: {
    conditions: ['Accepted', 'Conflicted', 'Ready'],
    text: 'Two ApiKeys claim the same key, or another namespace used it before. The first namespace to use a key keeps it, even after deletion; within a namespace, the first ApiKey to use it, else the older one.',
    wayOut: 'Create a new key. A key stays with the first namespace that used it.',
  },
  MetadataNotAllowed: {
    conditions: ['Degraded'],
    text: 'spec.secret has labels or annotations with prefixes that the platform does not allow. They are not written to the Secret; the key works.',
    wayOut: 'Remove the labels and annotations, or ask the platform team to allow their prefix.',
  },
  ResolvedRefs: {
    conditions: ['ResolvedRefs'],
    text: 'All references exist and may be used.',
  },
  SecretNotFound: {
    conditions: ['ResolvedRefs', 'Degraded', 'Ready'],
    text: 'A Secret does not exist in the namespace of the Provider.',
    wayOut: 'Create the Secret, or correct its name. If a secrets operator creates it, check that operator.',
  },
  SecretNotOptedIn: {
    conditions: ['ResolvedRefs', 'Degraded', 'Ready'],
    text: 'A Secret lacks the label that allows Providers to use it.',
    wayOut: 'Label the Secret; the message has the command.',
  },
  SecretTypeNotAllowed: {
    conditions: ['ResolvedRefs', 'Degraded', 'Ready'],
    text: 'The type of a Secret is for another use, such as a service account token, or a TLS key in place of an API key.',
    wayOut: 'Create a Secret of the type in the message.',
  },
  ClosedByNetworkPolicy: {
    conditions: ['Degraded'],
    text: 'The TenantPolicy opens a range for gateways, but the NetworkPolicies of the chart open it only on the ports of public upstreams. Where the network enforces them, other ports stay closed.',
    wayOut: 'Add the range to networkPolicy.extraEgress of the chart; the message holds the line.',
  },
  LastKnownGood: {
    conditions: ['Degraded', 'Stalled'],
    text: 'The current form cannot be served, so the last good form serves for a limited time. The message has the reason and the time.',
    wayOut: 'Correct the object before the time in the message; its last good form serves until then.',
  },
  KeyNotFound: {
    conditions: ['ResolvedRefs', 'Degraded', 'Ready'],
    text: 'A Secret lacks the key, or its value is empty.',
    wayOut: 'Add the key to the Secret, under the name in the message.',
  },
  SecretValueInvalid: {
    conditions: ['ResolvedRefs', 'Degraded', 'Ready'],
    text: 'The value in a Secret is not valid in an HTTP header, or for a proxy.',
    wayOut: 'Write the value again, without a line break at the end.',
  },
  HostNotAllowed: {
    conditions: ['ResolvedRefs', 'Degraded', 'Ready'],
    text: 'A Secret does not allow the host of the Provider or of its proxy, so its value is not sent there.',
    wayOut: 'Allow the host in the annotation of the Secret; the message has the command.',
  },
  EndpointNotAllowed: {
    conditions: ['ResolvedRefs', 'Ready'],
    text: 'The namespace may not reach the address of the Provider or of its proxy.',
    wayOut: 'The address is private. Ask the platform team to allow it for the namespace, in a TenantPolicy.',
  },
  CANotFound: {
    conditions: ['ResolvedRefs', 'Ready'],
    text: 'The ConfigMap or Secret with the certificate authority, or the key in it, does not exist in the namespace of the Provider.',
    wayOut: 'Check the name and the key of the ConfigMap or Secret with the certificate authority.',
  },
  InvalidCertificate: {
    conditions: ['ResolvedRefs', 'Ready'],
    text: 'A certificate authority or client certificate cannot be read, is expired or not valid yet, or does not belong to its key.',
    wayOut: 'Replace the certificate; the message names the object and the fault.',
  },
  CertificateNotVerified: {
    conditions: ['Degraded'],
    text: 'spec.tls.insecureSkipVerify is true: any server that poses as the upstream is trusted.',
    wayOut: 'Set tls.caRef and remove tls.insecureSkipVerify.',
  },
  NoUsableKey: {
    conditions: ['ResolvedRefs', 'Ready'],
    text: 'Every key of the Provider is disabled or drained.',
    wayOut: 'Enable a key of the Provider, or set its weight above 0.',
  },
  RefNotFound: {
    conditions: ['ResolvedRefs', 'Degraded', 'Ready'],
    text: 'A Provider does not exist in the namespace of the ModelRoute.',
    wayOut: 'Correct the name of the Provider, or create it.',
  },
  RefNotPermitted: {
    conditions: ['ResolvedRefs', 'Degraded', 'Ready'],
    text: 'A Provider of another namespace does not exist there, or does not allow this one.',
    wayOut:
      'Correct the name, or ask the owner of the other namespace to allow this one in spec.allowedNamespaces.',
  },
  ProviderNotReady: {
    conditions: ['ResolvedRefs', 'Degraded', 'Ready'],
    text: 'A Provider exists, but is suspended, not accepted or without a usable key.',
    wayOut: 'Check that Provider: its conditions say what is missing.',
  },
  TargetUnsupported: {
    conditions: ['Degraded', 'ResolvedRefs', 'Ready'],
    text: 'A target has no dialect that carries all capabilities of the ModelRoute, or its Provider does not speak the dialect that `api` of the target names.',
    wayOut:
      'Set another API for the target, or fewer capabilities; the message lists the dialects of the Provider.',
  },
  Native: {
    conditions: ['Translatable'],
    text: 'Every usable target speaks every offered dialect itself.',
  },
  Translated: {
    conditions: ['Translatable'],
    text: 'Some dialects are translated, with streams, tools, images, structured output and reasoning. The message names the pairs.',
  },
  Lossy: {
    conditions: ['Translatable'],
    text: 'Some dialects are translated with losses. The message names the lost or refused features per target.',
    tone: 'warn',
    wayOut: 'No action needed. The message names the lost features per target.',
  },
  DialectImpossible: {
    conditions: ['Translatable'],
    text: 'No target can serve a dialect of spec.apis with all of spec.capabilities; the message names the dialect, the targets and the capability.',
    wayOut: 'Remove the dialect from spec.apis, or add a target that can serve it.',
  },
  Priced: {
    conditions: ['Priced'],
    text: 'Every usable target has a price. The message names list-price entries, and the targets for which the pricing of the route does not apply.',
  },
  NoPrice: {
    conditions: ['Priced'],
    text: 'A target has neither an applicable price nor a list price. Its tokens are recorded with unknown cost; with unpriced: Deny or a budget that blocks, it is not used.',
    title: 'No price set',
    tone: 'warn',
    wayOut:
      'Set pricing in the route or its target, unless the message says that it does not apply. Until then the cost of its calls is unknown and not in spend, and keys with a budget that blocks cannot call it.',
  },
  NotEvaluated: {
    conditions: ['ResolvedRefs', 'Translatable', 'Priced', 'Issued'],
    text: 'Not evaluated, because the object is not accepted.',
    tone: 'off',
    wayOut: 'Fix “Accepted” first; this is evaluated afterwards.',
  },
  SecretCreated: {
    conditions: ['Issued'],
    text: 'The key is in its Secret.',
  },
  SecretPending: {
    conditions: ['Issued', 'Ready'],
    text: 'The Secret with the key does not exist yet; the operator writes it.',
    tone: 'busy',
    wayOut: 'Wait. If it lasts, the message says why the Secret cannot be written.',
  },
  SecretTaken: {
    conditions: ['Issued', 'Ready'],
    text: 'A Secret of that name exists and does not belong to this ApiKey; it is never overwritten.',
    wayOut: 'Delete that Secret, or create the ApiKey again with another secret name.',
  },
  KeyMalformed: {
    conditions: ['Issued', 'Ready'],
    text: 'The value in the Secret is not a key of this installation.',
    wayOut: 'Delete the Secret to get a new key.',
  },
  Imported: {
    conditions: ['Issued'],
    text: 'The keys were imported by their hash.',
  },
  DisabledBySpec: {
    conditions: ['Disabled', 'Ready'],
    text: 'spec.disabled is true.',
    tone: 'off',
    wayOut: 'Enable the key to use it again.',
  },
  PastExpiry: {
    conditions: ['Expired', 'Ready'],
    text: 'spec.expiresAt, or notAfter of every import, has passed.',
    wayOut: 'Set a later expiry; the same key works again.',
  },
  NearExpiry: {
    conditions: ['ExpiringSoon'],
    text: 'The last key of this object expires within 7 days.',
    wayOut: 'Set a later expiry, or import another key. A rotation does not change the expiry.',
  },
  BudgetExhausted: {
    conditions: ['BudgetExhausted'],
    text: 'The spend of a period has reached its limit. The message names the period, the limit, the spend and the reset time.',
    wayOut: 'Raise the limit, or wait for the next period. For a namespace budget, ask the platform team.',
  },
  Healthy: {
    conditions: ['Healthy'],
    text: 'Calls of every gateway pod succeed or, without recent calls, the check of the operator.',
  },
  PartiallyHealthy: {
    conditions: ['Healthy'],
    text: 'Some calls fail (by pod, model or check of the operator), and others succeed.',
    title: 'Some calls fail',
    tone: 'warn',
    wayOut: 'Check the unavailable keys and models, and the gateway pods that report them.',
  },
  Unhealthy: {
    conditions: ['Healthy'],
    text: 'Calls of every gateway pod fail or, without recent calls, the check of the operator.',
    wayOut: 'Check the upstream server, then DNS, network policies and proxy.',
  },
  AuthenticationFailed: {
    conditions: ['Healthy'],
    text: 'The upstream rejects every key.',
    wayOut: 'Replace the value in the Secret; it is used at the next call.',
  },
  CredentialExhausted: {
    conditions: ['Healthy'],
    text: 'No key can be used: its account is out of credit, or the upstream rejects it. At least one account is out of credit.',
    wayOut:
      'Top up the account at the upstream, or use the key of another account. A topped-up key is retried within five minutes.',
  },
  CredentialsExchanged: {
    conditions: ['CredentialsValid'],
    text: 'Every gateway pod that has reported can sign its requests. The message names the identity.',
  },
  CredentialsRefused: {
    conditions: ['CredentialsValid'],
    text: 'No gateway pod can sign its requests: the token service refuses the credentials, or cannot be reached. The message has its code.',
    wayOut:
      'Follow the message: most often a trust policy, a role or a service account is missing or named wrongly.',
  },
  CredentialsPartlyRefused: {
    conditions: ['CredentialsValid'],
    text: 'Some keys, or some gateway pods, cannot sign their requests, and others can.',
    title: 'Partly signed in',
    tone: 'warn',
    wayOut: 'Follow the message; it names the key, if the Provider has keys.',
  },
  CredentialsPending: {
    conditions: ['CredentialsValid'],
    text: 'Unknown: no gateway pod has reported an exchange yet.',
    tone: 'busy',
    wayOut: 'Wait: gateways report within seconds of the rollout.',
  },
  NoTraffic: {
    conditions: ['Healthy'],
    text: 'Unknown: no recent call and no check.',
    tone: 'off',
    wayOut: 'Send a call, or enable an active health check.',
  },
  Programmed: {
    conditions: ['Programmed', 'Ready'],
    text: 'Every ready gateway pod runs the current form.',
  },
  Pending: {
    conditions: ['Programmed', 'Ready'],
    text: 'Some ready gateway pods do not run the current form yet.',
    tone: 'busy',
    wayOut: 'Wait: gateway pods are loading it. If it lasts, the message names the pod.',
  },
  Pinned: {
    conditions: ['Programmed', 'Ready'],
    text: 'The table is pinned to an earlier generation, in which the object has another form, or none.',
    wayOut: 'The table is pinned to an earlier generation. Ask the platform team to unpin it.',
  },
  NotProgrammed: {
    conditions: ['Programmed', 'Ready'],
    text: 'The object is not part of the table; its other conditions say why.',
    tone: 'off',
    wayOut: 'Fix the condition in the message.',
  },
} as const satisfies Record<string, ReasonFacts>;

export type Reason = keyof typeof REASONS;
