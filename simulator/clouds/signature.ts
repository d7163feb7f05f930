// Is a request signed as AWS wants it? Recomputed from the request line and the headers that came.

import { createHash, createHmac } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

export interface SigningKey {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
  readonly region: string;
  readonly service: string;
}

/** The access key that a signature names. */
export function accessKeyOf({ authorization }: IncomingHttpHeaders): string | undefined {
  return /^AWS4-HMAC-SHA256 Credential=([^/]+)\//.exec(authorization ?? '')?.[1];
}

/** Undefined: it was signed within five minutes of this time; else the words of the refusal. */
export function faultOfTime({ 'x-amz-date': time }: IncomingHttpHeaders, nowMs: number): string | undefined {
  const parts = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(String(time))?.slice(1).map(Number) ?? [];
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = parts;
  const offMs = Date.UTC(year, month - 1, day, hour, minute, second) - nowMs;
  if (Math.abs(offMs) <= 5 * 60_000) return undefined;
  return offMs < 0
    ? `Signature expired: ${String(time)} is now earlier than five minutes ago`
    : `Signature not yet current: ${String(time)} is still later than in five minutes`;
}

/** Undefined: it is; else the words of the refusal. */
export function faultOfSignature(
  url: string,
  headers: IncomingHttpHeaders,
  body: Buffer,
  key: SigningKey,
): string | undefined {
  const found =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/([^/]+)\/aws4_request, SignedHeaders=([a-z0-9;-]+), Signature=([0-9a-f]{64})$/.exec(
      headers.authorization ?? '',
    );
  const [, id, date = '', region, service, signed = '', signature] = found ?? [];
  if (id !== key.accessKeyId) return 'The security token included in the request is invalid.';
  if (region !== key.region || service !== key.service)
    return 'Credential should be scoped to a valid region.';
  const names = signed.split(';');
  const time = String(headers['x-amz-date']);
  const needed = ['host', 'x-amz-date', ...(key.sessionToken === undefined ? [] : ['x-amz-security-token'])];
  const isMinimal = names.every((name) => needed.includes(name) || name === 'content-type');
  if (
    !needed.every((name) => names.includes(name)) ||
    !isMinimal ||
    names.join() !== [...new Set(names)].sort().join()
  )
    return 'The signed headers are not those that are needed.';
  if (headers['x-amz-security-token'] !== key.sessionToken)
    return 'The security token included in the request is invalid.';
  const [path = '', query = ''] = url.split('?');
  const canonical = [
    'POST',
    path.split('/').map(encodeURIComponent).join('/'),
    query,
    ...names.map((name) => `${name}:${String(headers[name])}`),
    '',
    signed,
    createHash('sha256').update(body).digest('hex'),
  ].join('\n');
  const hash = createHash('sha256').update(canonical).digest('hex');
  const text = ['AWS4-HMAC-SHA256', time, `${date}/${region}/${service}/aws4_request`, hash].join('\n');
  let bytes = Buffer.from(`AWS4${key.secretAccessKey}`);
  for (const part of [date, region, service, 'aws4_request', text])
    bytes = createHmac('sha256', bytes).update(part).digest();
  return bytes.toString('hex') === signature
    ? undefined
    : 'The request signature we calculated does not match the signature you provided.';
}
