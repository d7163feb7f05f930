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
  CredentialsValid: {
    yes: 'Signed in at the cloud',
    no: 'Not signed in',
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
    title: 'Suspended',
    tone: 'off',
    wayOut: 'Resume it, or remove spec.suspended, to return it to service.',
  },
  Invalid: {
    wayOut: 'Correct the fields that the message names.',
  },
  UnsupportedValue: {
    wayOut: 'Remove the field: it has no effect in this version, or for this type.',
  },
  NotPermitted: {
    wayOut: 'Remove the field, or ask the platform team to share it from a platform namespace.',
  },
  IdentityNotAllowed: {
    wayOut: 'Set spec.auth.keys, or ask the platform team for cloudIdentities in a TenantPolicy.',
  },
  ReservedPrefix: {
    wayOut: 'Choose another model id; the prefix is reserved.',
  },
  ModelConflict: {
    wayOut: 'Create this route with another model id, or remove one of the two.',
  },
  NoUsableTarget: {
    wayOut: 'Check the targets: each says why it is not in use.',
  },
  DigestConflict: {
    wayOut: 'Create a new key. A key stays with the first namespace that used it.',
  },
  MetadataNotAllowed: {
    wayOut: 'Remove the labels and annotations, or ask the platform team to allow their prefix.',
  },
  SecretNotFound: {
    wayOut: 'Create the Secret, or correct its name. If a secrets operator creates it, check that operator.',
  },
  SecretNotOptedIn: {
    wayOut: 'Label the Secret; the message has the command.',
  },
  SecretTypeNotAllowed: {
    wayOut: 'Create a Secret of the type in the message.',
  },
  ClosedByNetworkPolicy: {
    wayOut: 'Add the range to networkPolicy.extraEgress of the chart; the message holds the line.',
  },
  LastKnownGood: {
    wayOut: 'Correct the object before the time in the message; its last good form serves until then.',
  },
  KeyNotFound: {
    wayOut: 'Add the key to the Secret, under the name in the message.',
  },
  SecretValueInvalid: {
    wayOut: 'Write the value again, without a line break at the end.',
  },
  HostNotAllowed: {
    wayOut: 'Allow the host in the annotation of the Secret; the message has the command.',
  },
  EndpointNotAllowed: {
    wayOut: 'The address is private. Ask the platform team to allow it for the namespace, in a TenantPolicy.',
  },
  CANotFound: {
    wayOut: 'Check the name and the key of the ConfigMap or Secret with the certificate authority.',
  },
  InvalidCertificate: {
    wayOut: 'Replace the certificate; the message names the object and the fault.',
  },
  CertificateNotVerified: {
    wayOut: 'Set tls.caRef and remove tls.insecureSkipVerify.',
  },
  NoUsableKey: {
    wayOut: 'Enable a key of the Provider, or set its weight above 0.',
  },
  RefNotFound: {
    wayOut: 'Correct the name of the Provider, or create it.',
  },
  RefNotPermitted: {
    wayOut:
      'Correct the name, or ask the owner of the other namespace to allow this one in spec.allowedNamespaces.',
  },
  ProviderNotReady: {
    wayOut: 'Check that Provider: its conditions say what is missing.',
  },
  TargetUnsupported: {
    wayOut:
      'Set another API for the target, or fewer capabilities; the message lists the dialects of the Provider.',
  },
  Lossy: {
    tone: 'warn',
    wayOut: 'No action needed. The message names the lost features per target.',
  },
  DialectImpossible: {
    wayOut: 'Remove the dialect from spec.apis, or add a target that can serve it.',
  },
  NoPrice: {
    title: 'No price set',
    tone: 'warn',
    wayOut:
      'Set pricing in the route or its target, unless the message says that it does not apply. Until then the cost of its calls is unknown and not in spend, and keys with a budget that blocks cannot call it.',
  },
  NotEvaluated: {
    tone: 'off',
    wayOut: 'Fix “Accepted” first; this is evaluated afterwards.',
  },
  SecretPending: {
    tone: 'busy',
    wayOut: 'Wait. If it lasts, the message says why the Secret cannot be written.',
  },
  SecretTaken: {
    wayOut: 'Delete that Secret, or create the ApiKey again with another secret name.',
  },
  KeyMalformed: {
    wayOut: 'Delete the Secret to get a new key.',
  },
  DisabledBySpec: {
    tone: 'off',
    wayOut: 'Enable the key to use it again.',
  },
  PastExpiry: {
    wayOut: 'Set a later expiry; the same key works again.',
  },
  NearExpiry: {
    wayOut: 'Set a later expiry, or import another key. A rotation does not change the expiry.',
  },
  BudgetExhausted: {
    wayOut: 'Raise the limit, or wait for the next period. For a namespace budget, ask the platform team.',
  },
  PartiallyHealthy: {
    title: 'Some calls fail',
    tone: 'warn',
    wayOut: 'Check the unavailable keys and models, and the gateway pods that report them.',
  },
  Unhealthy: {
    wayOut: 'Check the upstream server, then DNS, network policies and proxy.',
  },
  AuthenticationFailed: {
    wayOut: 'Replace the value in the Secret; it is used at the next call.',
  },
  CredentialExhausted: {
    wayOut:
      'Top up the account at the upstream, or use the key of another account. A topped-up key is retried within five minutes.',
  },
  CredentialsRefused: {
    wayOut:
      'Follow the message: most often a trust policy, a role or a service account is missing or named wrongly.',
  },
  CredentialsPartlyRefused: {
    title: 'Partly signed in',
    tone: 'warn',
    wayOut: 'Follow the message; it names the key, if the Provider has keys.',
  },
  CredentialsPending: {
    tone: 'busy',
    wayOut: 'Wait: gateways report within seconds of the rollout.',
  },
  NoTraffic: {
    tone: 'off',
    wayOut: 'Send a call, or enable an active health check.',
  },
  Pending: {
    tone: 'busy',
    wayOut: 'Wait: gateway pods are loading it. If it lasts, the message names the pod.',
  },
  Pinned: {
    wayOut: 'The table is pinned to an earlier generation. Ask the platform team to unpin it.',
  },
  NotProgrammed: {
    tone: 'off',
    wayOut: 'Fix the condition in the message.',
  },
};
