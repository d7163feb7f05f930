// How is a condition shown, and what is to be done? Generated from core/catalog by `npm run generate`; do not edit.

export type Tone = 'good' | 'busy' | 'warn' | 'bad' | 'off';

interface ConditionShown {
  readonly yes: string;
  readonly no: string;
  /** Of a condition that is bad news where it is true. */
  readonly badTone?: Tone;
}

interface ReasonShown {
  readonly title?: string;
  readonly tone?: Tone;
  readonly wayOut?: string;
}

/** In the order in which one reads them. */
export const CONDITIONS: Readonly<Record<string, ConditionShown>> = {
  Ready: {
    yes: 'Ready',
    no: 'Not ready',
  },
  Accepted: {
    yes: 'Valid',
    no: 'Invalid',
  },
  ResolvedRefs: {
    yes: 'References resolved',
    no: 'Unresolved references',
  },
  Issued: {
    yes: 'Key issued',
    no: 'No key yet',
  },
  Programmed: {
    yes: 'Live on every gateway',
    no: 'Not live everywhere',
  },
  Healthy: {
    yes: 'Upstream healthy',
    no: 'Upstream unhealthy',
  },
  Translatable: {
    yes: 'All dialects served',
    no: 'Dialect not served',
  },
  Priced: {
    yes: 'Prices known',
    no: 'Price missing',
  },
  Degraded: {
    yes: 'Partly working',
    no: 'Not degraded',
    badTone: 'warn',
  },
  Conflicted: {
    yes: 'Conflict',
    no: 'No conflict',
    badTone: 'bad',
  },
  Stalled: {
    yes: 'Action needed',
    no: 'Not stalled',
    badTone: 'bad',
  },
  Reconciling: {
    yes: 'In progress',
    no: 'Settled',
    badTone: 'busy',
  },
  Disabled: {
    yes: 'Disabled',
    no: 'Enabled',
    badTone: 'off',
  },
  Expired: {
    yes: 'Expired',
    no: 'Not expired',
    badTone: 'bad',
  },
  ExpiringSoon: {
    yes: 'Expires soon',
    no: 'Not expiring soon',
    badTone: 'warn',
  },
  BudgetExhausted: {
    yes: 'Budget used up',
    no: 'Within budget',
    badTone: 'bad',
  },
};

export const REASONS: Readonly<Record<string, ReasonShown>> = {
  Suspended: {
    tone: 'off',
    wayOut: 'Nothing is wrong. Take spec.suspended away to put it back into service.',
  },
  Invalid: {
    wayOut: 'Correct the fields that the message names.',
  },
  UnsupportedValue: {
    wayOut: 'Remove the field: it does not act in this version, or not for this type.',
  },
  NotPermitted: {
    wayOut: 'Sharing with other namespaces is for the platform team; ask them, or take the field away.',
  },
  ReservedPrefix: {
    wayOut: 'Choose another model id: those that begin with the service prefix are the platform’s.',
  },
  ModelConflict: {
    wayOut: 'Make this route anew with another model id, or remove one of the two.',
  },
  NoUsableTarget: {
    wayOut: 'Look at the targets below: each says why it is not in use.',
  },
  DigestConflict: {
    wayOut: 'Make a new key. A key stays with the namespace that had it first.',
  },
  MetadataNotAllowed: {
    wayOut: 'Remove the labels and annotations, or ask the platform team to allow their prefix.',
  },
  SecretNotFound: {
    wayOut: 'Make the Secret, or correct its name; with a secrets operator, look whether that has run.',
  },
  SecretNotOptedIn: {
    wayOut: 'The owner of the Secret labels it; the message holds the command.',
  },
  SecretTypeNotAllowed: {
    wayOut: 'Make a Secret of the type that the message names.',
  },
  ClosedByNetworkPolicy: {
    wayOut: 'Add the range to networkPolicy.extraEgress of the chart; the message holds the line.',
  },
  LastKnownGood: {
    wayOut: 'Correct the object before the time in the message; until then its last good form serves.',
  },
  KeyNotFound: {
    wayOut: 'Put the key into the Secret under the name that the message gives.',
  },
  SecretValueInvalid: {
    wayOut: 'Write the value again without a line break at its end.',
  },
  HostNotAllowed: {
    wayOut: 'The owner of the Secret names the host in its annotation; the message holds the command.',
  },
  EndpointNotAllowed: {
    wayOut: 'The address is private. The platform team opens it for the namespace with egress.allow.',
  },
  CANotFound: {
    wayOut: 'Check the name and the key of the ConfigMap or Secret with the certificate authority.',
  },
  InvalidCertificate: {
    wayOut: 'Replace the certificate; the message names the object and the fault.',
  },
  CertificateNotVerified: {
    wayOut: 'Name the authority in tls.caRef in place of tls.insecureSkipVerify.',
  },
  NoUsableKey: {
    wayOut: 'Enable a key of the Provider, or give one a weight above 0.',
  },
  RefNotFound: {
    wayOut: 'Correct the name of the Provider, or create it.',
  },
  RefNotPermitted: {
    wayOut:
      'The owner of the other namespace allows this one in spec.allowedNamespaces, or the name is wrong.',
  },
  ProviderNotReady: {
    wayOut: 'Look at that Provider: its own conditions say what is missing.',
  },
  TargetUnsupported: {
    wayOut:
      'Name another API for the target, or fewer capabilities; the message says which the Provider speaks.',
  },
  Lossy: {
    tone: 'warn',
    wayOut: 'Nothing has to be done. The message names what is lost at which target.',
  },
  DialectImpossible: {
    wayOut: 'Take the dialect out of spec.apis, or add a target that can serve it.',
  },
  NoPrice: {
    tone: 'warn',
    wayOut:
      'State pricing in the route or its target, where the message does not say that it does not count; until then the cost of its calls is unknown.',
  },
  NotEvaluated: {
    tone: 'off',
    wayOut: 'Mend “Accepted” first; this is judged afterwards.',
  },
  SecretPending: {
    tone: 'busy',
    wayOut: 'Wait. If it stays, the message says why the Secret cannot be written.',
  },
  SecretTaken: {
    wayOut: 'Delete that Secret, or make the API key anew with another secret name.',
  },
  KeyMalformed: {
    wayOut: 'Delete the Secret to get a new key.',
  },
  DisabledBySpec: {
    tone: 'off',
    wayOut: 'Nothing is wrong. Enable the key to let it work again.',
  },
  PastExpiry: {
    wayOut: 'Set a later end; the same key works again.',
  },
  NearExpiry: {
    wayOut: 'Set a later end, or import another key. A rotation does not move the end.',
  },
  BudgetExhausted: {
    wayOut:
      'Raise the limit, or wait for the next period; for the budget of a namespace ask the platform team.',
  },
  PartiallyHealthy: {
    title: 'Some calls fail',
    tone: 'warn',
    wayOut:
      'Look at which gateway pods do not ask it, at the keys and at the calls by model: one of them says what fails.',
  },
  Unhealthy: {
    wayOut: 'Look at the status page of the upstream, then at DNS, network policy and proxy.',
  },
  AuthenticationFailed: {
    wayOut: 'Replace the value in the Secret; it is used at the next call.',
  },
  CredentialExhausted: {
    wayOut:
      'Top up the account at the upstream, or put the key of another one into the Secret. A key that was topped up is tried again within five minutes.',
  },
  NoTraffic: {
    tone: 'off',
    wayOut: 'Nothing is known yet: no call was made lately, and there is no check.',
  },
  Pending: {
    tone: 'busy',
    wayOut: 'Wait: gateway pods are taking it up. If it stays, the message names the pod.',
  },
  Pinned: {
    wayOut: 'Somebody has pinned the table to an earlier one; the platform team unpins it.',
  },
  NotProgrammed: {
    tone: 'off',
    wayOut: 'Mend the condition that the message names.',
  },
};
