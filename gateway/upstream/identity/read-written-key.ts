// What does a key say that is exchanged for tokens? Its members, as the operator has checked and written them: JSON in base64, so that it is one word.

import { parseJson } from '../../../core/parse-json.ts';
import { asRecord, type JsonRecord } from '../../json/record.ts';
import type { Secret } from '../../table/secret.ts';

/** Without members where it is something else. */
export function readWrittenKey(secret: Secret): JsonRecord {
  return asRecord(parseJson(Buffer.from(secret.reveal(), 'base64').toString('utf8'))) ?? {};
}

/** False: a key that is sent as it is. */
export function isWrittenKey(secret: Secret): boolean {
  return Object.keys(readWrittenKey(secret)).length > 0;
}
