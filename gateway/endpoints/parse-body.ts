// Chunks to a checked request body, or a clear 400.

import { GatewayError } from '../errors.ts';
import { RequestBody } from '../json/request-body.ts';
import { JsonStructureError } from '../json/scan-members.ts';
import { refuseConnectionMembers } from './connection-members.ts';

/**
 * Bodies up to this size are parsed whole, so that malformed JSON is told here and exactly; the
 * inside of larger ones is left to the upstream, whose parser reads them anyway.
 */
const parsedBytesMax = 16 * 1024;

/** @throws {GatewayError} `invalid_parameter`. */
export function parseBody(chunks: readonly Buffer[]): RequestBody {
  if (chunks.length === 0)
    throw new GatewayError('invalid_parameter', 'The request body is empty; send a JSON object.');
  return asInvalid(() => {
    const body = new RequestBody(chunks);
    if (body.bytes <= parsedBytesMax) body.parse();
    refuseConnectionMembers(body);
    return body;
  });
}

/**
 * Parses a body whole, however large: where it is read, not passed on.
 *
 * @throws {GatewayError} `invalid_parameter`.
 */
export function parseWhole(body: RequestBody): void {
  asInvalid(() => body.parse());
}

function asInvalid<T>(parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    if (error instanceof JsonStructureError) {
      throw new GatewayError('invalid_parameter', capitalised(error.message), { param: error.member });
    }
    if (error instanceof SyntaxError) {
      throw new GatewayError('invalid_parameter', 'The body is not valid JSON.', { cause: error });
    }
    throw error;
  }
}

function capitalised(sentence: string): string {
  return `${sentence.charAt(0).toUpperCase()}${sentence.slice(1)}.`;
}
