// What do refusals of AWS's token service mean, and what is to do?
// https://docs.aws.amazon.com/STS/latest/APIReference/API_AssumeRoleWithWebIdentity.html#API_AssumeRoleWithWebIdentity_Errors

import type { RefusalWords } from '../identity/refusals.ts';

const common: readonly RefusalWords[] = [
  {
    code: 'RegionDisabledException',
    words: 'The region is not active in the account. Activate it in the account settings of IAM.',
  },
  { code: 'Throttling', words: 'Gateways ask again.', isPassing: true },
  { code: 'ValidationError', words: 'The ARN of the role is not valid. Correct it.' },
];

/** For a projected token. */
export const tokenRefusals: readonly RefusalWords[] = [
  {
    code: 'AccessDenied',
    words:
      "The role does not exist, or does not trust the gateway. Allow sts:AssumeRoleWithWebIdentity in its trust policy to the gateway's ServiceAccount.",
  },
  {
    code: 'ExpiredTokenException',
    words: 'The projected token has expired. Check that kubelet renews the file, and the clock of its node.',
    isPassing: true,
  },
  {
    code: 'IDPCommunicationError',
    words:
      'AWS cannot reach the issuer of the projected token. Make the keys of the issuer readable from the internet.',
    isPassing: true,
  },
  {
    code: 'IDPRejectedClaim',
    words: 'The issuer rejects the projected token. Check that kubelet renews the file.',
  },
  {
    code: 'InvalidIdentityToken',
    words:
      'AWS does not trust the issuer of the projected token, or its audience is another. Create an identity provider in IAM for both.',
  },
  ...common,
];

/** For other credentials. */
export const roleRefusals: readonly RefusalWords[] = [
  {
    code: 'AccessDenied',
    words:
      'The role does not exist, or does not trust this identity. Allow sts:AssumeRole and sts:TagSession in its trust policy, compare the external id, and allow the identity sts:AssumeRole on the role.',
  },
  {
    code: 'ExpiredToken',
    words: 'The session token has expired. Use a lasting access key, or a role.',
  },
  {
    code: 'InvalidClientTokenId',
    words: 'AWS does not know the access key. Correct it, or create another key.',
  },
  {
    code: 'SignatureDoesNotMatch',
    words: 'The secret does not belong to the access key. Correct it, and check the clock of the node.',
  },
  ...common,
];
