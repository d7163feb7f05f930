// The JSON key of a Google service account: what of it goes to the gateways, and how?

import { z } from 'zod';
import type { SecretUse } from './checks/secret-use.ts';
import { serviceAccountInvalid } from './checks/secret-value-invalid.ts';
import type { CredentialKind } from './credentials.ts';

/** Google's token service, as keys of today and of earlier years name it. Another one would be an address that the Secret chooses. */
const tokenAddresses = ['https://oauth2.googleapis.com/token', 'https://accounts.google.com/o/oauth2/token'];

const keySchema = z.object({
  type: z.literal('service_account'),
  client_email: z.string().min(1),
  private_key: z.string().startsWith('-----BEGIN'),
  private_key_id: z.string().optional(),
  token_uri: z.enum(tokenAddresses).optional(),
});

export function serviceAccountKind(use: SecretUse): CredentialKind {
  return {
    isValid: (value) => {
      const problem = keySchema.safeParse(read(value)).error?.issues[0];
      return problem && serviceAccountInvalid(use, problem.path.join('.'));
    },
    // One base64 word, so that no part of it is taken for something else; only with the members that gateways need.
    write: (value) => {
      const { client_email, private_key, private_key_id } = keySchema.parse(read(value));
      return Buffer.from(JSON.stringify({ client_email, private_key, private_key_id })).toString('base64');
    },
  };
}

function read(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
