// Can the value stand in an HTTP header as it is?

import type { Finding } from '../verdict.ts';
import type { SecretUse } from './secret-use.ts';

// Visible ASCII, with single spaces or more only inside (RFC 9110 §5.5).
const FIELD_VALUE = /^[!-~]([ -~]*[!-~])?$/;

/** The value itself is never part of the message. */
export function secretValueInvalid(use: SecretUse, value: string): Finding | undefined {
  if (FIELD_VALUE.test(value)) return undefined;
  return {
    reason: 'SecretValueInvalid',
    message:
      `${use.field}: the value of ${use.key} in Secret ${use.secret} has line breaks, outer spaces or characters that ` +
      'cannot stand in a header; write the bare key, for example with kubectl create secret --from-literal',
  };
}
