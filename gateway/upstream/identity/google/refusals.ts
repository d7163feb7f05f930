// What do refusals of Google's token services mean, and what is to do?

import type { RefusalWords } from '../refusals.ts';

export const accountRefusals: readonly RefusalWords[] = [
  {
    code: 'invalid_grant',
    when: /\b(iat|exp)\b|timeframe/i,
    words: "The gateway's clock is off. Synchronise the clock of its node.",
  },
  {
    code: 'invalid_grant',
    when: /signature/i,
    words: 'Google does not know the key of the service account. Create a key, and write it into the Secret.',
  },
  { code: 'invalid_grant', words: 'Check that the service account exists, and that its key is in use.' },
  { code: 'unauthorized_client', words: 'Check that the service account exists, and that it is enabled.' },
];

export const federationRefusals: readonly RefusalWords[] = [
  {
    code: 'invalid_target',
    words:
      'The identity pool or its provider does not exist, or is disabled. Correct the audience in the credential file.',
  },
  {
    code: 'invalid_grant',
    when: /stale|expired/i,
    words: "The pod's token is too old. Check that kubelet renews the file, and the clock of its node.",
  },
  {
    code: 'invalid_grant',
    when: /audience/i,
    words:
      "The pod's token is for another audience. Project one for an audience that the pool's provider allows.",
  },
  {
    code: 'invalid_grant',
    words: "Google cannot verify the pod's token. Check the issuer and its keys at the pool's provider.",
  },
  {
    code: 'unauthorized_client',
    words:
      "The condition of the pool's provider rejects the pod. Allow its namespace and service account there.",
  },
];

export const impersonationRefusals: readonly RefusalWords[] = [
  {
    code: 'PERMISSION_DENIED',
    when: /has not been used|is disabled/,
    words: 'Enable the IAM Service Account Credentials API in the project.',
  },
  {
    code: 'PERMISSION_DENIED',
    words:
      'Grant the identity roles/iam.serviceAccountTokenCreator on the service account, and check that it exists.',
  },
  { code: 'NOT_FOUND', words: 'The service account does not exist. Correct its e-mail address.' },
];

export const metadataRefusals: readonly RefusalWords[] = [
  {
    code: '404',
    words:
      'GKE finds no service account for the pod. Bind its Kubernetes service account to one that exists.',
  },
  {
    code: '403',
    words: 'The pod may not act as its service account. Grant it roles/iam.workloadIdentityUser there.',
  },
];
