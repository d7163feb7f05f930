// What can a condition say? One row for each type and each reason, which are API: a sentence for the reference, and words for the dashboard.

type Kind = 'Provider' | 'ModelRoute' | 'ApiKey' | 'TenantPolicy';
/** How a page shows it. */
type Tone = 'good' | 'busy' | 'warn' | 'bad' | 'off';

export interface ConditionFacts {
  readonly kinds: readonly Kind[];
  /** `always`: there from the first run on. `when-true`: only there while it holds. */
  readonly shown: 'always' | 'when-true';
  readonly text: string;
  readonly title: { readonly yes: string; readonly no: string };
  /** Of a condition that is bad news where it is true. */
  readonly tone?: Tone;
}

const ALL: readonly Kind[] = ['Provider', 'ModelRoute', 'ApiKey', 'TenantPolicy'];

/** In the order in which one reads them. */
export const CONDITIONS = {
  Ready: {
    kinds: ALL,
    shown: 'always',
    text: 'Accepted, with its references resolved (or its key issued), Programmed, and not expired: the object is as its owner wishes. One that is suspended or disabled is Ready with that reason once every gateway pod has it out of service. While the last good form is held, it speaks of that one, and observedGeneration is its.',
    title: { yes: 'Ready', no: 'Not ready' },
  },
  Accepted: {
    kinds: ALL,
    shown: 'always',
    text: 'The object itself is right: every field is understood, acts in this version, and is allowed in its namespace.',
    title: { yes: 'Valid', no: 'Invalid' },
  },
  ResolvedRefs: {
    kinds: ['Provider', 'ModelRoute'],
    shown: 'always',
    text: 'What the object refers to is there and may be used: Secrets and the address of a Provider, Providers of a ModelRoute.',
    title: { yes: 'References resolved', no: 'Unresolved references' },
  },
  Issued: {
    kinds: ['ApiKey'],
    shown: 'always',
    text: 'There is a key for this object.',
    title: { yes: 'Key issued', no: 'No key yet' },
  },
  Programmed: {
    kinds: ALL,
    shown: 'always',
    text: 'Every ready gateway pod runs the present form of the object.',
    title: { yes: 'Live on every gateway', no: 'Not live everywhere' },
  },
  Healthy: {
    kinds: ['Provider'],
    shown: 'always',
    text: 'The upstream answers. It is left out of Ready: an outage elsewhere is no fault of this object.',
    title: { yes: 'Upstream healthy', no: 'Upstream unhealthy' },
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
    text: 'The object works, but not all of it, or not in its present form.',
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
    text: 'Nothing will change until somebody acts: the object is not Ready, and this has the reason of Ready, or it serves in its last good form. Never together with Reconciling.',
    title: { yes: 'Action needed', no: 'Not stalled' },
    tone: 'bad',
  },
  Reconciling: {
    kinds: ALL,
    shown: 'when-true',
    text: 'Not Ready, but on its way: the operator or the gateways are at it (for 10 minutes at most), or something that it refers to may still come (for a minute). It has the reason of Ready.',
    title: { yes: 'In progress', no: 'Settled' },
    tone: 'busy',
  },
  Disabled: {
    kinds: ['ApiKey'],
    shown: 'when-true',
    text: 'The key is switched off by spec.disabled.',
    title: { yes: 'Disabled', no: 'Enabled' },
    tone: 'off',
  },
  Expired: {
    kinds: ['ApiKey'],
    shown: 'when-true',
    text: 'The key has reached its end; it no longer works.',
    title: { yes: 'Expired', no: 'Not expired' },
    tone: 'bad',
  },
  ExpiringSoon: {
    kinds: ['ApiKey'],
    shown: 'when-true',
    text: 'The key stops working within 7 days.',
    title: { yes: 'Expires soon', no: 'Not expiring soon' },
    tone: 'warn',
  },
  BudgetExhausted: {
    kinds: ['ApiKey', 'TenantPolicy'],
    shown: 'when-true',
    text: 'A budget with the action Block is used up, of the key, or of a namespace of the TenantPolicy: calls are refused until its next period, or until it allows more. It is left out of Ready: the object is as its owner wishes.',
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
  /** What is to be done. The message of the condition says what is wrong with this very object. */
  readonly wayOut?: string;
}

export const REASONS = {
  Accepted: {
    conditions: ['Accepted'],
    text: 'Nothing is wrong with the object.',
  },
  Suspended: {
    conditions: ['Accepted', 'Ready'],
    text: 'Nothing is wrong with the object, and spec.suspended keeps it out of service.',
    tone: 'off',
    wayOut: 'Nothing is wrong. Take spec.suspended away to put it back into service.',
  },
  Invalid: {
    conditions: ['Accepted', 'Ready'],
    text: 'A field is missing, unknown or out of bounds; the message names each one.',
    wayOut: 'Correct the fields that the message names.',
  },
  UnsupportedValue: {
    conditions: ['Accepted', 'Ready'],
    text: 'A field or value does not act in this version (or not for this type); remove it.',
    wayOut: 'Remove the field: it does not act in this version, or not for this type.',
  },
  NotPermitted: {
    conditions: ['Accepted', 'Ready'],
    text: 'Something only platform namespaces may ask for: sharing with other namespaces, or visibility Public.',
    wayOut: 'Sharing with other namespaces is for the platform team; ask them, or take the field away.',
  },
  ReservedPrefix: {
    conditions: ['Accepted', 'Ready'],
    text: 'A model id begins with the service prefix, and the namespace is not one of the platform.',
    wayOut: 'Choose another model id: those that begin with the service prefix are the platform’s.',
  },
  ModelConflict: {
    conditions: ['Accepted', 'Conflicted', 'Ready'],
    text: 'Another ModelRoute holds the same model id for some of the same callers: it served it before this one asked for it, or nobody served it and it is older.',
    wayOut: 'Make this route anew with another model id, or remove one of the two.',
  },
  NoUsableTarget: {
    conditions: ['Accepted', 'Ready'],
    text: 'No target of the ModelRoute can be used; status.targets says why for each.',
    wayOut: 'Look at the targets below: each says why it is not in use.',
  },
  DigestConflict: {
    conditions: ['Accepted', 'Conflicted', 'Ready'],
    text: 'Two ApiKeys stand for the same key, or another namespace had it before. A key stays with the namespace for which it worked, also after it is deleted there; within a namespace, with the ApiKey for which it worked, else the older one.',
    wayOut: 'Make a new key. A key stays with the namespace that had it first.',
  },
  MetadataNotAllowed: {
    conditions: ['Degraded'],
    text: 'spec.secret asks for labels or annotations with prefixes that the platform has not allowed; they are not written to the Secret, and the key works.',
    wayOut: 'Remove the labels and annotations, or ask the platform team to allow their prefix.',
  },
  ResolvedRefs: {
    conditions: ['ResolvedRefs'],
    text: 'Everything referred to is there and may be used.',
  },
  SecretNotFound: {
    conditions: ['ResolvedRefs', 'Degraded', 'Ready'],
    text: 'A Secret does not exist in the namespace of the Provider.',
    wayOut: 'Make the Secret, or correct its name; with a secrets operator, look whether that has run.',
  },
  SecretNotOptedIn: {
    conditions: ['ResolvedRefs', 'Degraded', 'Ready'],
    text: 'A Secret lacks the label by which its owner lends it to Providers.',
    wayOut: 'The owner of the Secret labels it; the message holds the command.',
  },
  SecretTypeNotAllowed: {
    conditions: ['ResolvedRefs', 'Degraded', 'Ready'],
    text: 'A Secret is of a type made for something else, such as a service account token, or a TLS key in place of an API key.',
    wayOut: 'Make a Secret of the type that the message names.',
  },
  ClosedByNetworkPolicy: {
    conditions: ['Degraded'],
    text: 'A range of the TenantPolicy is open for gateways, and the NetworkPolicies of the chart let no connection pass to it, but on the ports for public upstreams. A network that enforces NetworkPolicies drops the rest.',
    wayOut: 'Add the range to networkPolicy.extraEgress of the chart; the message holds the line.',
  },
  LastKnownGood: {
    conditions: ['Degraded', 'Stalled'],
    text: 'The present form cannot be served, so the last good one serves on for a while; the message says why and until when.',
    wayOut: 'Correct the object before the time in the message; until then its last good form serves.',
  },
  KeyNotFound: {
    conditions: ['ResolvedRefs', 'Degraded', 'Ready'],
    text: 'A Secret has no such key, or it is empty.',
    wayOut: 'Put the key into the Secret under the name that the message gives.',
  },
  SecretValueInvalid: {
    conditions: ['ResolvedRefs', 'Degraded', 'Ready'],
    text: 'The value in a Secret cannot stand in an HTTP header, or cannot be given to a proxy.',
    wayOut: 'Write the value again without a line break at its end.',
  },
  HostNotAllowed: {
    conditions: ['ResolvedRefs', 'Degraded', 'Ready'],
    text: 'A Secret is not bound to the host of the Provider or of its proxy, so its value is not sent there.',
    wayOut: 'The owner of the Secret names the host in its annotation; the message holds the command.',
  },
  EndpointNotAllowed: {
    conditions: ['ResolvedRefs', 'Ready'],
    text: 'The address of the Provider, or of its proxy, is one that its namespace may not reach.',
    wayOut: 'The address is private. The platform team opens it for the namespace with egress.allow.',
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
    text: 'spec.tls.insecureSkipVerify is true: whoever answers in place of the upstream is believed.',
    wayOut: 'Name the authority in tls.caRef in place of tls.insecureSkipVerify.',
  },
  NoUsableKey: {
    conditions: ['ResolvedRefs', 'Ready'],
    text: 'Every key of the Provider is disabled or drained.',
    wayOut: 'Enable a key of the Provider, or give one a weight above 0.',
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
      'The owner of the other namespace allows this one in spec.allowedNamespaces, or the name is wrong.',
  },
  ProviderNotReady: {
    conditions: ['ResolvedRefs', 'Degraded', 'Ready'],
    text: 'A Provider is there, but suspended, not accepted or without a usable key.',
    wayOut: 'Look at that Provider: its own conditions say what is missing.',
  },
  TargetUnsupported: {
    conditions: ['Degraded', 'ResolvedRefs', 'Ready'],
    text: 'A target speaks no dialect that serves the ModelRoute with all of its capabilities, or not the one that it asks for.',
    wayOut:
      'Name another API for the target, or fewer capabilities; the message says which the Provider speaks.',
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
    tone: 'warn',
    wayOut: 'Nothing has to be done. The message names what is lost at which target.',
  },
  DialectImpossible: {
    conditions: ['Translatable'],
    text: 'No target can serve a dialect of spec.apis with all of spec.capabilities; the message names the dialect, the targets and what is impossible.',
    wayOut: 'Take the dialect out of spec.apis, or add a target that can serve it.',
  },
  Priced: {
    conditions: ['Priced'],
    text: 'Every usable target has a price; where it is a list price of the vendor, the message names the entry. It names the targets for which pricing of the route does not count.',
  },
  NoPrice: {
    conditions: ['Priced'],
    text: 'A target has no price that it or its route states and that counts, and no list price; its tokens are recorded, their cost stays unknown, or, with unpriced: Deny or a budget that blocks, it is not used.',
    tone: 'warn',
    wayOut:
      'State pricing in the route or its target, where the message does not say that it does not count; until then the cost of its calls is unknown.',
  },
  NotEvaluated: {
    conditions: ['ResolvedRefs', 'Translatable', 'Priced', 'Issued'],
    text: 'Not judged, because the object is not accepted.',
    tone: 'off',
    wayOut: 'Mend “Accepted” first; this is judged afterwards.',
  },
  SecretCreated: {
    conditions: ['Issued'],
    text: 'The key is in its Secret.',
  },
  SecretPending: {
    conditions: ['Issued', 'Ready'],
    text: 'The Secret with the key does not exist yet; the operator writes it.',
    tone: 'busy',
    wayOut: 'Wait. If it stays, the message says why the Secret cannot be written.',
  },
  SecretTaken: {
    conditions: ['Issued', 'Ready'],
    text: "A Secret of that name is there that is not this ApiKey's; it is never overwritten.",
    wayOut: 'Delete that Secret, or make the API key anew with another secret name.',
  },
  KeyMalformed: {
    conditions: ['Issued', 'Ready'],
    text: 'What stands in the Secret is no key of this installation; delete the Secret to get a new one.',
    wayOut: 'Delete the Secret to get a new key.',
  },
  Imported: {
    conditions: ['Issued'],
    text: 'The keys were made elsewhere and are known by their hash.',
  },
  DisabledBySpec: {
    conditions: ['Disabled', 'Ready'],
    text: 'spec.disabled is true.',
    tone: 'off',
    wayOut: 'Nothing is wrong. Enable the key to let it work again.',
  },
  PastExpiry: {
    conditions: ['Expired', 'Ready'],
    text: 'spec.expiresAt, or notAfter of every import, has passed.',
    wayOut: 'Set a later end; the same key works again.',
  },
  NearExpiry: {
    conditions: ['ExpiringSoon'],
    text: 'The last key of this object stops working within 7 days.',
    wayOut: 'Set a later end, or import another key. A rotation does not move the end.',
  },
  BudgetExhausted: {
    conditions: ['BudgetExhausted'],
    text: 'The spend of a period has reached its limit; the message names the period, the limit, the spend, and when it begins anew.',
    wayOut:
      'Raise the limit, or wait for the next period; for the budget of a namespace ask the platform team.',
  },
  Healthy: {
    conditions: ['Healthy'],
    text: 'Every gateway pod that used the upstream finds it working, or, where none used it lately, the check of the operator does.',
  },
  PartiallyHealthy: {
    conditions: ['Healthy'],
    text: "Calls of some gateway pods, or for some models, or the operator's check fail; others are answered.",
    title: 'Some calls fail',
    tone: 'warn',
    wayOut:
      'Look at which gateway pods do not ask it, at the keys and at the calls by model: one of them says what fails.',
  },
  Unhealthy: {
    conditions: ['Healthy'],
    text: 'No gateway pod finds the upstream working, or no call was made and the check of the operator fails.',
    wayOut: 'Look at the status page of the upstream, then at DNS, network policy and proxy.',
  },
  AuthenticationFailed: {
    conditions: ['Healthy'],
    text: 'The upstream refuses every key.',
    wayOut: 'Replace the value in the Secret; it is used at the next call.',
  },
  CredentialExhausted: {
    conditions: ['Healthy'],
    text: 'The account of every key is out of money, or of some, and the upstream refuses the others.',
    wayOut:
      'Top up the account at the upstream, or put the key of another one into the Secret. A key that was topped up is tried again within five minutes.',
  },
  NoTraffic: {
    conditions: ['Healthy'],
    text: 'Nothing is known: no call was made lately, and no check.',
    tone: 'off',
    wayOut: 'Nothing is known yet: no call was made lately, and there is no check.',
  },
  Programmed: {
    conditions: ['Programmed', 'Ready'],
    text: 'Every ready gateway pod runs the present form.',
  },
  Pending: {
    conditions: ['Programmed', 'Ready'],
    text: 'Some ready gateway pod does not run the present form yet.',
    tone: 'busy',
    wayOut: 'Wait: gateway pods are taking it up. If it stays, the message names the pod.',
  },
  Pinned: {
    conditions: ['Programmed', 'Ready'],
    text: 'Somebody has pinned the table to an earlier one, in which the object has another form, or none.',
    wayOut: 'Somebody has pinned the table to an earlier one; the platform team unpins it.',
  },
  NotProgrammed: {
    conditions: ['Programmed', 'Ready'],
    text: 'The object is not part of the table; its other conditions say why.',
    tone: 'off',
    wayOut: 'Mend the condition that the message names.',
  },
} as const satisfies Record<string, ReasonFacts>;

export type Reason = keyof typeof REASONS;
