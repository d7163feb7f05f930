// How is a request signed for AWS? Signature Version 4: over the address and the body as they are sent, and few headers, since a hop may change
// the others.
// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html

import { createHash, createHmac } from 'node:crypto';
import type { AwsCredentials } from '../../../core/contract/aws-credentials.ts';
import type { Sign, UnsignedRequest } from '../sign.ts';

interface Scope {
  readonly region: string;
  /** The signing name of the host: `bedrock`, `bedrock-mantle`. */
  readonly service: string;
}

export function signerFor(credentials: AwsCredentials, { region, service }: Scope): Sign {
  const { accessKeyId, secretAccessKey, sessionToken } = credentials;
  // The same for a day.
  let key: { readonly date: string; readonly bytes: Buffer } | undefined;
  return (request, bodyParts, nowMs) => {
    const time = new Date(nowMs).toISOString().replace(/[-:]|\.\d{3}/g, '');
    const date = time.slice(0, 8);
    if (key?.date !== date) key = { date, bytes: keyFor(secretAccessKey, date, region, service) };
    const added = [
      'x-amz-date',
      time,
      ...(sessionToken === undefined ? [] : ['x-amz-security-token', sessionToken]),
    ];
    const { names, canonical } = canonicalRequest(request, added, bodyParts);
    const scope = `${date}/${region}/${service}/aws4_request`;
    const toSign = `AWS4-HMAC-SHA256\n${time}\n${scope}\n${createHash('sha256').update(canonical).digest('hex')}`;
    const signature = hmac(key.bytes, toSign).toString('hex');
    const authorization = `AWS4-HMAC-SHA256 Credential=${accessKeyId}/${scope}, SignedHeaders=${names}, Signature=${signature}`;
    return [...added, 'authorization', authorization];
  };
}

function keyFor(secret: string, ...parts: readonly string[]): Buffer {
  return [...parts, 'aws4_request'].reduce(
    (key: string | Buffer, part) => hmac(key, part),
    `AWS4${secret}`,
  ) as Buffer;
}

function hmac(key: string | Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}

function canonicalRequest(
  { method, host, path, query, headers }: UnsignedRequest,
  added: readonly string[],
  bodyParts: readonly Buffer[],
): { readonly names: string; readonly canonical: string } {
  const body = createHash('sha256');
  for (const part of bodyParts) body.update(part);
  const signed = new Map([['host', host]]);
  for (const list of [headers, added]) {
    for (let at = 0; at < list.length; at += 2) {
      const name = list[at] ?? '';
      if (name === 'content-type' || name.startsWith('x-amz-')) signed.set(name, list[at + 1] ?? '');
    }
  }
  const sorted = [...signed].sort(([a], [b]) => (a < b ? -1 : 1));
  const names = sorted.map(([name]) => name).join(';');
  const lines = sorted.map(([name, value]) => `${name}:${value.trim().replace(/ +/g, ' ')}\n`).join('');
  const canonical = [method, pathAsSigned(path), queryAsSigned(query), lines, names, body.digest('hex')].join(
    '\n',
  );
  return { names, canonical };
}

/** AWS signs the path with each already encoded segment encoded a second time. */
function pathAsSigned(path: string): string {
  const segments = path.split('/').filter((segment) => segment !== '' && segment !== '.');
  return `/${segments.map(encoded).join('/')}${path.endsWith('/') && segments.length > 0 ? '/' : ''}`;
}

/** By name, and by value where names are alike. */
function queryAsSigned(query: string): string {
  return [...new URLSearchParams(query)]
    .map(([name, value]) => [encoded(name), encoded(value)] as const)
    .sort(([a, aValue], [b, bValue]) => compare(a, b) || compare(aValue, bValue))
    .map((pair) => pair.join('='))
    .join('&');
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function encoded(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
