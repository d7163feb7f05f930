// What does the pointer Secret hold? The manifest of the newest table, the heartbeat, the bearer token of the exchange.

import { hash } from 'node:crypto';
import { z } from 'zod';
import { type InternalTls, readInternalTls } from '../../../core/contract/internal-tls.ts';
import { type Manifest, manifestSchema, POINTER_DATA } from '../../../core/contract/manifest.ts';
import { READER_FORMAT } from '../../../core/contract/routing-table.ts';
import { TableLoadError } from '../load-error.ts';

export interface Pointer {
  readonly manifest: string;
  readonly manifestSha256: string | undefined;
  /** Unix milliseconds at which a leader last showed that it lives. */
  readonly heartbeatMs: number | undefined;
  readonly exchangeToken: string | undefined;
  /** What this gateway shows over TLS, and whom it trusts; undefined: an operator wrote it that knows no TLS. */
  readonly internalTls: InternalTls | undefined;
}

const secretSchema = z.object({ data: z.record(z.string(), z.string()).default({}) });

/** What can be read of it; whether the manifest is a good one is `parseManifest`'s to say. */
export function readPointer(secret: unknown): Pointer {
  const parsed = secretSchema.safeParse(secret);
  const data = parsed.success ? parsed.data.data : {};
  const text = (name: string): string | undefined =>
    data[name] === undefined ? undefined : Buffer.from(data[name], 'base64').toString('utf8');
  const heartbeatMs = Date.parse(text(POINTER_DATA.heartbeat) ?? '');
  return {
    manifest: text(POINTER_DATA.manifest) ?? '',
    manifestSha256: text(POINTER_DATA.manifestSha256),
    heartbeatMs: Number.isNaN(heartbeatMs) ? undefined : heartbeatMs,
    exchangeToken: text(POINTER_DATA.exchangeToken) || undefined,
    internalTls: readInternalTls(text),
  };
}

const headSchema = z.object({
  minReader: z.int().optional().catch(undefined),
  epoch: z.int().min(0).optional().catch(undefined),
  generation: z.int().min(0).optional().catch(undefined),
});

/** @throws {TableLoadError} */
export function parseManifest(text: string, sha256: string | undefined): Manifest {
  // guard: manifest-digest
  if (hash('sha256', text, 'hex') !== sha256) {
    throw new TableLoadError('corrupt', 'the manifest does not match its digest');
  }
  const data = parseJson(text);
  const head = headSchema.safeParse(data);
  const { minReader = 0, epoch, generation } = head.success ? head.data : {};
  const version = {
    ...(epoch === undefined ? {} : { epoch }),
    ...(generation === undefined ? {} : { generation }),
  };
  if (minReader > READER_FORMAT) {
    throw new TableLoadError(
      'too-new',
      `the manifest needs a reader of format ${minReader}, this gateway reads format ${READER_FORMAT}; upgrade the gateway`,
      version,
    );
  }
  const parsed = manifestSchema.safeParse(data);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  throw new TableLoadError('invalid', `manifest field ${issue?.path.join('.')}: ${issue?.message}`, version);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Not the parser's own words: they quote the text around the fault.
    throw new TableLoadError('invalid', 'the manifest is not valid JSON');
  }
}
