// Which parts of an upstream's error may reach the caller?

import type { UpstreamError } from '../dialects/dialect.ts';
import { mapTexts } from '../json/map-texts.ts';
import type { AttemptIo } from './attempt-io.ts';
import type { AttemptFailure } from './failure.ts';

/** Removes provider keys: callers see an upstream's own words, and some upstreams repeat the key of the request. */
export function withoutSecrets(
  failure: AttemptFailure,
  ends: Pick<AttemptIo<unknown>, 'speaksForeign' | 'redact'>,
): AttemptFailure {
  const redact = (text: string): string => ends.redact?.(text) ?? text;
  const clean = (error: UpstreamError): UpstreamError => ({
    ...error,
    ...(ends.speaksForeign ? { isForeign: true } : {}),
    message: redact(error.message),
    type: error.type && redact(error.type),
    code: error.code && redact(error.code),
    param: error.param && redact(error.param),
    ...(error.details ? { details: mapTexts(error.details, redact) } : {}),
  });
  if (failure.kind === 'status') return { ...failure, error: clean(failure.error) };
  if (failure.kind !== 'answer') return failure;
  // The detail may quote a header.
  if ('detail' in failure.fault) {
    return { ...failure, fault: { ...failure.fault, detail: redact(failure.fault.detail) } };
  }
  if (failure.fault.kind !== 'error-event') return failure;
  return { ...failure, fault: { ...failure.fault, error: clean(failure.fault.error) } };
}
