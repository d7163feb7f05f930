// Can requests be signed with the value?

import { parseAwsCredentials } from '../../../core/contract/aws-credentials.ts';
import type { Finding } from '../verdict.ts';
import type { SecretUse } from './secret-use.ts';

/** The value itself is never part of the message. */
export function awsCredentialsInvalid(use: SecretUse, value: string): Finding | undefined {
  if (parseAwsCredentials(value) !== undefined) return undefined;
  return {
    reason: 'SecretValueInvalid',
    message:
      `${use.field}: the value of ${use.key} in Secret ${use.secret} is not an AWS credentials file with one profile; write ` +
      'aws_access_key_id and aws_secret_access_key, for example with kubectl create secret --from-file',
  };
}
