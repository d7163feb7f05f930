// What does a credentials file of AWS say? One profile, as `aws configure` writes it, so that a file can be put into a Secret as it is.

import { isVisibleWord } from './visible-word.ts';

export interface AwsCredentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** Of temporary credentials. */
  readonly sessionToken?: string;
}

/** Undefined if it holds none, or several profiles. */
export function parseAwsCredentials(text: string): AwsCredentials | undefined {
  const members = new Map<string, string>();
  let profiles = 0;
  for (const line of text.split(/\r?\n/)) {
    const plain = line.trim();
    if (plain.startsWith('[')) profiles++;
    const [, name, value] = /^(\w+)\s*=\s*(\S+)$/.exec(plain) ?? [];
    if (name !== undefined && value !== undefined) members.set(name.toLowerCase(), value);
  }
  const accessKeyId = members.get('aws_access_key_id');
  const secretAccessKey = members.get('aws_secret_access_key');
  const sessionToken = members.get('aws_session_token');
  if (profiles > 1 || accessKeyId === undefined || secretAccessKey === undefined) return undefined;
  const credentials = {
    accessKeyId,
    secretAccessKey,
    ...(sessionToken === undefined ? {} : { sessionToken }),
  };
  return areAwsCredentials(credentials) ? credentials : undefined;
}

export function areAwsCredentials({ accessKeyId, secretAccessKey, sessionToken }: AwsCredentials): boolean {
  return /^\w{16,128}$/.test(accessKeyId) && isVisibleWord(secretAccessKey + (sessionToken ?? ''));
}
