// Seat: what can a client ask of a model? An operation is the unit of an endpoint. Its folder says at the top of `index.ts` what it
// reads, how it is limited, metered, failed over and answered; the object says what its endpoints need to know of that.

import type { OperationName } from '../../core/catalog/operations.ts';
import type { Dialect } from '../dialects/dialect.ts';
import type { Asking, Exchange, PipelineParts } from '../pipeline/parts.ts';
import type { Over } from '../pipeline.ts';

export interface Operation {
  /** Name of its row in the catalogue, which has its endpoint. */
  readonly name: OperationName;
  /** Whether a large body has to be parsed whole before it is served; else its top-level members are enough. */
  mustParse(parts: PipelineParts, asking: Pick<Asking, 'dialect' | 'view' | 'caller' | 'body'>): boolean;
  /** Whether a refusal before service counts among the client requests. A served request is always counted where it is served. */
  readonly countsRefusals: boolean;
  /**
   * Serves one request, whose body has been read, to its end. Does not throw.
   */
  serve(parts: PipelineParts, exchange: Exchange, over: Over): void;
}

/** Where clients ask for an operation. */
export interface OperationEndpoint {
  readonly operation: Operation;
  readonly dialect: Dialect;
  /** Behind `/v1`. */
  readonly path: string;
}
