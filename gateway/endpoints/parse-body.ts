// Chunks to a checked request body, or a clear 400.

import { RequestBody } from '../json/request-body.ts';
import { JsonStructureError } from '../json/scan-members.ts';
import { GatewayError } from '../request/errors.ts';
import { refuseConnectionMembers } from './connection-members.ts';

/**
 * Bodies up to this size are checked whole, so that malformed JSON gets an exact error here; the
 * inside of larger ones is left to the upstream, whose parser reads them anyway.
 */
const checkedBytesMax = 16 * 1024;

/** @throws {GatewayError} `invalid_parameter`. */
export function parseBody(chunks: readonly Buffer[]): RequestBody {
  if (chunks.length === 0)
    throw new GatewayError('invalid_parameter', 'The request body is empty. Send a JSON object.');
  return asInvalid(() => {
    const body = openBody(chunks);
    if (body.bytes <= checkedBytesMax) body.check();
    refuseConnectionMembers(body);
    return body;
  });
}

/** @throws {JsonStructureError} */
function openBody(chunks: readonly Buffer[]): RequestBody {
  try {
    return new RequestBody(withoutMark(chunks));
  } catch (error) {
    throw nameEncoding(error, chunks);
  }
}

/** The fault of a body that cannot be decompressed. */
export function nameEncoding(error: unknown, chunks: readonly Buffer[]): unknown {
  const encoding = otherEncoding(chunks);
  return encoding === undefined
    ? error
    : new JsonStructureError(`the body is ${encoding} text. Send JSON in UTF-8`);
}

/** Some editors and shells prepend a byte order mark; a reader may ignore it (RFC 8259, section 8.1). */
export function withoutMark(chunks: readonly Buffer[]): readonly Buffer[] {
  if (chunks[0]?.[0] !== 0xef) return chunks;
  const [first, ...rest] = chunks[0].length >= 3 ? chunks : [Buffer.concat(chunks)];
  return first?.[1] === 0xbb && first[2] === 0xbf ? [first.subarray(3), ...rest] : chunks;
}

/** JSON begins with two ASCII characters, or with a mark: where bytes of them are zero, its encoding shows (RFC 4627, section 3). */
function otherEncoding([first = Buffer.of()]: readonly Buffer[]): string | undefined {
  const start = first.toString('latin1', 0, 4);
  if (/^(\xff\xfe\0\0|\0\0\xfe\xff|[^\0]\0\0\0|\0\0\0[^\0])/.test(start)) return 'UTF-32';
  return /^(\xff\xfe|\xfe\xff|[^\0]\0[^\0]?\0|\0[^\0])/.test(start) ? 'UTF-16' : undefined;
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
    throw invalidBody(error);
  }
}

/** The caller's error for a body that cannot be read; other errors stay as they are. */
export function invalidBody(error: unknown): unknown {
  if (error instanceof JsonStructureError) {
    return new GatewayError('invalid_parameter', capitalised(error.message), { param: error.member });
  }
  if (error instanceof SyntaxError) {
    return new GatewayError('invalid_parameter', 'The body is not valid JSON.', { cause: error });
  }
  return error;
}

function capitalised(sentence: string): string {
  return `${sentence.charAt(0).toUpperCase()}${sentence.slice(1)}.`;
}
