// Why did the API server refuse? Its Status object, or the bare HTTP status, as a KubeError.

import { type IncomingMessage, STATUS_CODES } from 'node:http';
import { KubeError } from './client.ts';
import { isRecord } from './object.ts';

/** `call` names method and path. None of `secretTexts` gets into the message, even where the answer repeats it. */
export function readError(
  call: string,
  response: Pick<IncomingMessage, 'statusCode' | 'headers'>,
  body: Buffer,
  secretTexts: readonly (string | undefined)[],
): KubeError {
  const status = response.statusCode ?? 0;
  const said = parseStatus(parseJson(body));
  const retryAfterMs = readRetryAfter(response.headers['retry-after']) ?? said.retryAfterMs;
  const text = said.message ?? STATUS_CODES[status] ?? 'no reason given';
  return new KubeError(
    status,
    said.reason ?? reasonOf(status),
    `${call}: ${status}: ${hide(text, secretTexts)}`,
    {
      retryAfterMs,
    },
  );
}

interface StatusObject {
  readonly code: number | undefined;
  readonly reason: string | undefined;
  readonly message: string | undefined;
  readonly retryAfterMs: number | undefined;
}

/** Members that are missing or of another type are undefined. */
export function parseStatus(value: unknown): StatusObject {
  const status = isRecord(value) && value.kind === 'Status' ? value : {};
  const seconds = isRecord(status.details) ? status.details.retryAfterSeconds : undefined;
  return {
    code: typeof status.code === 'number' ? status.code : undefined,
    reason: typeof status.reason === 'string' && status.reason !== '' ? status.reason : undefined,
    message: typeof status.message === 'string' && status.message !== '' ? status.message : undefined,
    retryAfterMs: typeof seconds === 'number' && seconds > 0 ? seconds * 1_000 : undefined,
  };
}

/** As the API names them: `NotFound`, `TooManyRequests`. */
export function reasonOf(status: number): string {
  return STATUS_CODES[status]?.replaceAll(/[^A-Za-z]/g, '') ?? 'Unknown';
}

/** In seconds; the form with a date is not used by API servers. */
function readRetryAfter(header: string | undefined): number | undefined {
  return header !== undefined && /^\d{1,6}$/.test(header) ? Number(header) * 1_000 : undefined;
}

function hide(text: string, secretTexts: readonly (string | undefined)[]): string {
  let hidden = text;
  for (const secret of secretTexts) {
    const token = secret?.split(' ').at(-1);
    if (token !== undefined && token !== '') hidden = hidden.replaceAll(token, '[redacted]');
  }
  return hidden;
}

function parseJson(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    // A proxy in between may answer with anything; its status says enough.
    return undefined;
  }
}
