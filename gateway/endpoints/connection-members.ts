// Does a body say where its request is to be sent? Only the table says that. Some proxies take it from a body, and one of them may well
// be the upstream: it would send what it is trusted with to wherever the caller likes.

import { foldName } from '../json/fold-name.ts';
import { asRecord } from '../json/record.ts';
import type { RequestBody } from '../json/request-body.ts';
import { GatewayError } from '../request/errors.ts';
import { connectionNames, wrappers } from './connection-quirks.ts';

/** Each is parsed. */
const wrapperBytesMax = 1024 * 1024;

/**
 * Checks names only, except in the few bodies with a member that replaces others.
 *
 * @throws {GatewayError} `invalid_parameter`, naming the member.
 * @throws {SyntaxError} if such a member is not valid JSON.
 */
export function refuseConnectionMembers(body: RequestBody): void {
  for (const member of body.scan.members) {
    const name = foldName(member.name);
    if (connectionNames.has(name)) throw refusal(member.name);
    if (!wrappers.has(name)) continue;
    if (member.valueEnd - member.valueStart > wrapperBytesMax) throw tooLong(member.name);
    refuseInside(body.read(member), member.name);
  }
}

function refuseInside(value: unknown, path: string): void {
  if (Array.isArray(value)) {
    for (const [index, entry] of value.entries()) refuseInside(entry, `${path}[${index}]`);
    return;
  }
  for (const [written, inner] of Object.entries(asRecord(value) ?? {})) {
    const name = foldName(written);
    if (connectionNames.has(name)) throw refusal(`${path}.${written}`);
    if (wrappers.has(name)) refuseInside(inner, `${path}.${written}`);
  }
}

function tooLong(path: string): GatewayError {
  const message = `The member '${path}' must not be longer than ${wrapperBytesMax / 1024 / 1024} MiB.`;
  return new GatewayError('invalid_parameter', message, { param: path });
}

function refusal(path: string): GatewayError {
  const message = `The member '${path}' is not accepted: only the platform team decides where requests are sent. Leave it out.`;
  return new GatewayError('invalid_parameter', message, { param: path });
}
