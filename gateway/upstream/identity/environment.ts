// What does the platform say about the identity of this pod? Variables that the clouds' own webhooks and libraries agree on. A tenant sets none.

/** Read once, when the process starts; those that are set. */
export type IdentityEnvironment = Readonly<Partial<Record<IdentityVariable, string>>>;

type IdentityVariable = (typeof identityVariables)[number];

export const identityVariables = [
  // https://docs.aws.amazon.com/sdkref/latest/guide/settings-reference.html
  'AWS_ACCESS_KEY_ID',
  'AWS_SECRET_ACCESS_KEY',
  'AWS_SESSION_TOKEN',
  'AWS_REGION',
  'AWS_ROLE_ARN',
  'AWS_WEB_IDENTITY_TOKEN_FILE',
  'AWS_CONTAINER_CREDENTIALS_FULL_URI',
  'AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE',
  'AWS_ENDPOINT_URL_STS',
  // https://docs.cloud.google.com/docs/authentication/application-default-credentials
  'GOOGLE_APPLICATION_CREDENTIALS',
  'GCE_METADATA_HOST',
  // https://azure.github.io/azure-workload-identity/docs/topics/service-account-labels-and-annotations.html
  'AZURE_CLIENT_ID',
  'AZURE_TENANT_ID',
  'AZURE_AUTHORITY_HOST',
  'AZURE_FEDERATED_TOKEN_FILE',
] as const;

/** @param environment Of the process: `settings.ts` alone reads it. Webhooks set some of them to nothing. */
export function readIdentityEnvironment(
  environment: Readonly<Record<string, string | undefined>>,
): IdentityEnvironment {
  const set = identityVariables.flatMap((name) => {
    const value = environment[name]?.trim() ?? '';
    return value === '' ? [] : [[name, value] as const];
  });
  return Object.freeze(Object.fromEntries(set));
}
