// Which certificate do callers see, and when does a renewed one come into use? A Secret of type kubernetes.io/tls, mounted as a folder.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createSecureContext } from 'node:tls';
import type { Clock } from '../../core/clock.ts';

/** PEM, as `tls.crt` and `tls.key` of the Secret. */
interface ServingCertificate {
  readonly cert: Buffer;
  readonly key: Buffer;
}

/** The kubelet renews mounted Secrets once a minute. */
const lookMs = 10_000;

/** @throws {Error} if a file is missing, or the two do not belong together. */
export function readCertificate(folder: string): ServingCertificate {
  const read = (name: string): Buffer => readFileSync(join(folder, name));
  try {
    const pair = { cert: read('tls.crt'), key: read('tls.key') };
    createSecureContext(pair);
    return pair;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(
      `The TLS certificate in ${folder} cannot be used: ${reason}. Put a Secret of type kubernetes.io/tls there.`,
      { cause: error },
    );
  }
}

/**
 * Looks for a renewed certificate every ten seconds. One that cannot be used is reported, and the one before serves on.
 *
 * @returns ends it.
 */
export function watchCertificate(parts: {
  readonly folder: string;
  readonly clock: Clock;
  readonly first: ServingCertificate;
  readonly onRenewed: (pair: ServingCertificate) => void;
  readonly onUnusable: (reason: string) => void;
}): () => void {
  let inUse = parts.first;
  let reported: string | undefined;
  let stop = parts.clock.setTimer(lookMs, look);

  function look(): void {
    stop = parts.clock.setTimer(lookMs, look);
    try {
      const pair = readCertificate(parts.folder);
      reported = undefined;
      if (pair.cert.equals(inUse.cert) && pair.key.equals(inUse.key)) return;
      inUse = pair;
      parts.onRenewed(pair);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      if (reason !== reported) parts.onUnusable(reason);
      reported = reason;
    }
  }

  return () => stop();
}
