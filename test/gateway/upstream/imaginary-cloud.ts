// A provider type that nobody has: deployments in the path, a version in the query, a signature over the body, tokens that end, and
// streams in frames with their length in front. What it needs is in this file and in its row: no shared file knows it.

import { createHash } from 'node:crypto';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { Framing } from '../../../gateway/dialects/events/framing.ts';
import { Secret } from '../../../gateway/table/secret.ts';
import type { ProviderView } from '../../../gateway/table/view.ts';
import type { Address, UpstreamAsk } from '../../../gateway/upstream/address.ts';
import type { Credential, Lease } from '../../../gateway/upstream/credential.ts';
import { plainSeats, type SeatRows, type UpstreamSeats } from '../../../gateway/upstream/seats.ts';
import type { UnsignedRequest } from '../../../gateway/upstream/sign.ts';

export const cloudType = 'ImaginaryCloud';

/** What it has in place of a plain provider's seats. */
export function rowWith(seats: Partial<UpstreamSeats>): SeatRows {
  return new Map([[cloudType, { ...plainSeats, ...seats }]]);
}

export function deploymentAddress({ host, basePath }: ProviderView, ask: UpstreamAsk): Address {
  const { model, operation, isStream } = ask;
  const verb = operation === 'count-tokens' ? 'count' : isStream ? 'stream' : 'invoke';
  return {
    host,
    path: `${basePath}/deployments/${encodeURIComponent(model)}/${verb}`,
    query: '?api-version=2026-11-01',
  };
}

export function signatureOf(host: string, address: string, body: readonly Buffer[]): string {
  const hash = createHash('sha256').update(`POST ${host} ${address}\n`);
  for (const part of body) hash.update(part);
  return hash.digest('hex');
}

export function signedLease(onSign: (request: UnsignedRequest, parts: readonly Buffer[]) => void): Lease {
  return {
    endsAtMs: Number.POSITIVE_INFINITY,
    headers: [],
    sign(request, parts, nowMs) {
      onSign(request, parts);
      const signature = signatureOf(request.host, request.path + request.query, parts);
      return ['x-cloud-date', new Date(nowMs).toISOString(), 'x-cloud-signature', signature];
    },
  };
}

/** Tokens named after their number; an exchange waits until it is released, where it is held. */
export class TokenCredential implements Credential {
  lease: { endsAtMs: number; headers: readonly string[]; secrets: readonly Secret[] } | undefined;
  exchanges = 0;
  refusal: string | undefined;
  private under: Promise<Lease> | undefined;

  renew(): Promise<Lease> {
    this.under ??= this.exchange().finally(() => {
      this.under = undefined;
    });
    return this.under;
  }

  private async exchange(): Promise<Lease> {
    this.exchanges++;
    await new Promise((resolve) => setImmediate(resolve));
    if (this.refusal !== undefined) throw new Error(this.refusal);
    const token = `token-number-${this.exchanges}`;
    const headers = ['authorization', `Bearer ${token}`];
    this.lease = { endsAtMs: Date.now() + 3_600_000, headers, secrets: [new Secret(token)] };
    return this.lease;
  }
}

/** Four bytes of length, then as many bytes of JSON; a length of 0 is the end of the answer. */
export const lengthFraming: Framing = {
  mediaType: 'application/x-length-frames',
  formOf: (bytes) => (bytes.length === 0 ? undefined : bytes[0] === 0x7b ? 'json' : 'events'),
  open() {
    let kept: Buffer = Buffer.alloc(0);
    let flaw: string | undefined;
    return {
      get pendingBytes() {
        return kept.length;
      },
      get flaw() {
        return flaw;
      },
      push(bytes) {
        kept = Buffer.concat([kept, bytes]);
        let events = '';
        while (flaw === undefined && kept.length >= 4) {
          const length = kept.readUInt32BE();
          if (length > 1024 * 1024) flaw = `a frame of ${length} bytes is too long`;
          if (flaw !== undefined || kept.length < 4 + length) break;
          const data = kept.toString('utf8', 4, 4 + length);
          events += `data: ${length === 0 ? '[DONE]' : data}\n\n`;
          kept = kept.subarray(4 + length);
        }
        return Buffer.from(events);
      },
    };
  },
};

export function frame(payload: object | undefined): Buffer {
  const body = payload === undefined ? Buffer.alloc(0) : Buffer.from(JSON.stringify(payload));
  const length = Buffer.alloc(4);
  length.writeUInt32BE(body.length);
  return Buffer.concat([length, body]);
}

export interface CloudCall {
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

export interface Cloud {
  readonly host: string;
  readonly baseUrl: string;
  readonly calls: CloudCall[];
  close(): Promise<void>;
}

export async function startCloud(
  answer: (response: ServerResponse, call: CloudCall) => void,
): Promise<Cloud> {
  const calls: CloudCall[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const call = { url: request.url ?? '', headers: request.headers, body: Buffer.concat(chunks) };
      calls.push(call);
      answer(response, call);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server has no port');
  const host = `127.0.0.1:${address.port}`;
  return {
    host,
    baseUrl: `http://${host}/base`,
    calls,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
