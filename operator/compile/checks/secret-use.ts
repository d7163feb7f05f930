// Which field uses a Secret, and for what: the texts that all checks of Secrets share.

export interface SecretUse {
  /** The field that names the Secret, as the user finds it: `spec.auth.keys[eu-1]`. */
  readonly field: string;
  /** Namespace of the Provider, and so of the Secret. */
  readonly namespace: string;
  readonly secret: string;
  readonly key: string;
}

export const CREDENTIAL_LABEL = 'penstock.dev/provider-credential';
export const ALLOWED_HOSTS_ANNOTATION = 'penstock.dev/allowed-hosts';
