// What is to be done where a condition is not as it should be? One sentence for each reason that asks for something; a test holds that none
// is missing. What is wrong with this very object says the message of the condition.

export const WAYS_OUT: Readonly<Record<string, string>> = {
  Suspended: 'Nothing is wrong. Take spec.suspended away to put it back into service.',
  Invalid: 'Correct the fields that the message names.',
  UnsupportedValue: 'Remove the field: it does not act in this version, or not for this type.',
  NotPermitted: 'Sharing with other namespaces is for the platform team; ask them, or take the field away.',
  ReservedPrefix: 'Choose another model id: those that begin with the service prefix are the platform’s.',
  ModelConflict: 'Make this route anew with another model id, or remove one of the two.',
  NoUsableTarget: 'Look at the targets below: each says why it is not in use.',
  DigestConflict: 'Make a new key. A key stays with the namespace that had it first.',
  MetadataNotAllowed: 'Remove the labels and annotations, or ask the platform team to allow their prefix.',
  SecretNotFound: 'Make the Secret, or correct its name; with a secrets operator, look whether that has run.',
  SecretNotOptedIn: 'The owner of the Secret labels it; the message holds the command.',
  SecretTypeNotAllowed: 'Make a Secret of the type that the message names.',
  LastKnownGood: 'Correct the object before the time in the message; until then its last good form serves.',
  KeyNotFound: 'Put the key into the Secret under the name that the message gives.',
  SecretValueInvalid: 'Write the value again without a line break at its end.',
  HostNotAllowed: 'The owner of the Secret names the host in its annotation; the message holds the command.',
  EndpointNotAllowed:
    'The address is private. The platform team opens it for the namespace with egress.allow.',
  CANotFound: 'Check the name and the key of the ConfigMap or Secret with the certificate authority.',
  InvalidCertificate: 'Replace the certificate; the message names the object and the fault.',
  CertificateNotVerified: 'Name the authority in tls.caRef in place of tls.insecureSkipVerify.',
  NoUsableKey: 'Enable a key of the Provider, or give one a weight above 0.',
  RefNotFound: 'Correct the name of the Provider, or create it.',
  RefNotPermitted:
    'The owner of the other namespace allows this one in spec.allowedNamespaces, or the name is wrong.',
  ProviderNotReady: 'Look at that Provider: its own conditions say what is missing.',
  TargetUnsupported:
    'Name another API for the target, or fewer capabilities; the message says which the Provider speaks.',
  Lossy: 'Nothing has to be done. The message names what is lost at which target.',
  DialectImpossible: 'Take the dialect out of spec.apis, or add a target that can serve it.',
  NoPrice:
    'State pricing in the route or its target, where the message does not say that it does not count; until then the cost of its calls is unknown.',
  NotEvaluated: 'Mend “Accepted” first; this is judged afterwards.',
  SecretPending: 'Wait. If it stays, the message says why the Secret cannot be written.',
  SecretTaken: 'Delete that Secret, or make the API key anew with another secret name.',
  KeyMalformed: 'Delete the Secret to get a new key.',
  DisabledBySpec: 'Nothing is wrong. Enable the key to let it work again.',
  PastExpiry: 'Set a later end; the same key works again.',
  NearExpiry: 'Set a later end, or import another key. A rotation does not move the end.',
  BudgetExhausted:
    'Raise the limit, or wait for the next period; for the budget of a namespace ask the platform team.',
  PartiallyHealthy:
    'Look at which gateway pods do not ask it, at the keys and at the calls by model: one of them says what fails.',
  Unhealthy: 'Look at the status page of the upstream, then at DNS, network policy and proxy.',
  AuthenticationFailed: 'Replace the value in the Secret; it is used at the next call.',
  CredentialExhausted:
    'Top up the account at the upstream, or put the key of another one into the Secret. A key that was topped up is tried again within five minutes.',
  NoTraffic: 'Nothing is known yet: no call was made lately, and there is no check.',
  Pending: 'Wait: gateway pods are taking it up. If it stays, the message names the pod.',
  Pinned: 'Somebody has pinned the table to an earlier one; the platform team unpins it.',
  NotProgrammed: 'Mend the condition that the message names.',
};
