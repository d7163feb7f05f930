// What does the agent of EKS Pod Identity give to this pod? It is asked at the address that the platform's webhook wrote into the environment, by
// the protocol of container credentials.
// https://docs.aws.amazon.com/sdkref/latest/guide/feature-container-credentials.html

import { parseJson } from '../../../core/parse-json.ts';
import { asRecord } from '../../json/record.ts';
import type { CredentialMeans } from '../credential.ts';
import { askService } from '../identity/ask-service.ts';
import { codeInWords, ExchangeError } from '../identity/exchange-error.ts';
import { readProjected } from '../identity/projected-file.ts';
import { type Temporary, temporaryOf } from './temporary.ts';

/** A token that goes over plain HTTP goes to these alone. */
const plainHosts: ReadonlySet<string> = new Set([
  ...['169.254.170.23', '[fd00:ec2::23]', '169.254.170.2'],
  ...['127.0.0.1', '[::1]', 'localhost'],
]);

/** @param address `AWS_CONTAINER_CREDENTIALS_FULL_URI`. */
export async function askContainerAgent(
  { pools, environment, nowMs }: CredentialMeans,
  address: string,
): Promise<Temporary> {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (!url || !(url.protocol === 'https:' || (url.protocol === 'http:' && plainHosts.has(url.hostname))))
    throw new ExchangeError(
      'AWS_CONTAINER_CREDENTIALS_FULL_URI is not the address of an agent. Use https, or the address that EKS sets.',
      true,
    );
  const { AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: file } = environment;
  const authorization =
    file === undefined ? {} : { authorization: await readProjected(file, 'The projected token') };
  const { status, text, header } = await askService(pools.platformPool(url.origin), url, {
    method: 'GET',
    headers: { accept: 'application/json', ...authorization },
  });
  const {
    AccessKeyId: accessKeyId,
    SecretAccessKey: secretAccessKey,
    Token: sessionToken,
    Expiration: expiration,
    code,
  } = asRecord(parseJson(text)) ?? {};
  const found =
    status === 200 &&
    temporaryOf({ accessKeyId, secretAccessKey, sessionToken, expiration }, header('date'), nowMs());
  if (found) return found;
  const fact = `The pod identity agent answered ${status} without credentials${codeInWords(code)}.`;
  const remedy =
    "Check the association of the gateway's ServiceAccount, and that its role trusts EKS Pod Identity.";
  throw new ExchangeError(`${fact} ${remedy}`, status < 500 && status !== 429);
}
