// What does the file say that `GOOGLE_APPLICATION_CREDENTIALS` names? A service account with its key, or how the token of a pod is exchanged.
// Addresses in it are held against Google's own, and never dialled: https://docs.cloud.google.com/docs/authentication/external/externally-sourced-credentials

import { z } from 'zod';
import { parseJson } from '../../../../core/parse-json.ts';
import { Secret } from '../../../table/secret.ts';
import { ExchangeError } from '../exchange-error.ts';
import { googleServices } from './services.ts';

export interface ServiceAccount {
  readonly email: string;
  readonly privateKey: Secret;
  readonly keyId: string | undefined;
}

interface AccountFile {
  readonly kind: 'account';
  readonly account: ServiceAccount;
  readonly quotaProject: string | undefined;
}

export interface FederatedFile {
  readonly kind: 'federated';
  readonly audience: string;
  readonly subjectTokenType: string;
  readonly tokenFile: string;
  /** The member of the file that holds the token; absent: all of the file is the token. */
  readonly tokenMember: string | undefined;
  /** E-mail address of the service account to act as. */
  readonly impersonates: string | undefined;
  readonly quotaProject: string | undefined;
}

const impersonationUrl =
  /^https:\/\/iamcredentials\.googleapis\.com\/v1\/projects\/-\/serviceAccounts\/([a-z0-9.@-]+):generateAccessToken$/;

const accountSchema = z.object({
  type: z.literal('service_account'),
  client_email: z.string().min(1),
  private_key: z.string().startsWith('-----BEGIN'),
  private_key_id: z.string().min(1).optional(),
  token_uri: z.enum([googleServices.oauth2, 'https://accounts.google.com/o/oauth2/token']).optional(),
  quota_project_id: z.string().min(1).optional(),
});

const federatedSchema = z.object({
  type: z.literal('external_account'),
  audience: z.string().startsWith('//iam.googleapis.com/'),
  subject_token_type: z.string().startsWith('urn:ietf:params:oauth:token-type:'),
  token_url: z.literal(googleServices.sts), // guard: google-token-url
  credential_source: z.strictObject({
    file: z.string().startsWith('/'),
    format: z
      .object({ type: z.enum(['text', 'json']), subject_token_field_name: z.string().min(1).optional() })
      .optional(),
  }),
  service_account_impersonation_url: z.string().regex(impersonationUrl).optional(), // guard: google-impersonation-url
  quota_project_id: z.string().min(1).optional(),
  universe_domain: z.literal('googleapis.com').optional(),
});

const fileSchema = z.discriminatedUnion('type', [accountSchema, federatedSchema]);

/** @throws {ExchangeError} that names the member which is wrong, never a value. */
export function readCredentialFile(text: string): AccountFile | FederatedFile {
  const parsed = fileSchema.safeParse(parseJson(text));
  if (!parsed.success) throw fileError(parsed.error.issues[0]?.path.join('.') ?? '');
  const file = parsed.data;
  const quotaProject = file.quota_project_id;
  if (file.type === 'service_account') {
    const { client_email: email, private_key: key, private_key_id: keyId } = file;
    return { kind: 'account', account: { email, privateKey: new Secret(key), keyId }, quotaProject };
  }
  const { format, file: tokenFile } = file.credential_source;
  return {
    kind: 'federated',
    audience: file.audience,
    subjectTokenType: file.subject_token_type,
    tokenFile,
    tokenMember: format?.type === 'json' ? (format.subject_token_field_name ?? 'access_token') : undefined,
    impersonates: impersonationUrl.exec(file.service_account_impersonation_url ?? '')?.[1],
    quotaProject,
  };
}

const remedies: Readonly<Record<string, string>> = {
  token_uri: "Google's own token_uri",
  token_url: `token_url ${googleServices.sts}`,
  credential_source: 'credential_source with file alone',
  service_account_impersonation_url: 'an impersonation URL at iamcredentials.googleapis.com',
};

function fileError(path: string): ExchangeError {
  const [member = ''] = path.split('.');
  const fact = member === '' ? 'is not a JSON object' : `has no valid ${path}`;
  const remedy = remedies[member] ?? 'a file of type external_account or service_account, as gcloud makes it';
  return new ExchangeError(`The file of GOOGLE_APPLICATION_CREDENTIALS ${fact}. Write ${remedy}.`, true);
}
