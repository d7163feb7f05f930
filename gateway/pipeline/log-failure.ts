// Under which ids does the log name a request that failed for a fault of ours? Under our own, and the caller's.

import { readClientRequestId } from '../request/request-id.ts';
import type { PipelineParts } from './parts.ts';

interface NamedRequest {
  readonly requestId: string;
  /** Names and values in turn, as received. */
  readonly request: { readonly rawHeaders: readonly string[] };
}

export function logFailure(
  { onFailure }: Pick<PipelineParts, 'onFailure'>,
  { requestId, request }: NamedRequest,
  error: unknown,
): void {
  onFailure(error, requestId, readClientRequestId(request.rawHeaders));
}
