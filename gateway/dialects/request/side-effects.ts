// Does a request do more than answer? Then it must not be sent again where the first may have been acted on. Read only
// when that question comes up: most requests are answered at the first try.

import { isRecord } from '../../json/record.ts';
import type { RequestBody } from '../../json/request-body.ts';

/** Whether the member is `true`. */
export function isSet(body: RequestBody, name: string): boolean {
  const member = body.member(name);
  return member !== undefined && body.text(member, 8) === 'true';
}

/** Whether the member is there and says something. */
export function isGiven(body: RequestBody, name: string): boolean {
  const member = body.member(name);
  return member !== undefined && !body.isNull(member);
}

/** Whether the request offers a tool that the provider runs itself. */
export function offersHostedTools(body: RequestBody): boolean {
  const member = body.member('tools');
  if (member === undefined) return false;
  if (member.valueEnd - member.valueStart > parsedBytesMax) {
    // Too long to parse for this: the text is searched for the types of hosted tools instead.
    return hostedInText.test(body.text(member));
  }
  const tools = body.read(member);
  return Array.isArray(tools) && tools.some((tool) => isRecord(tool) && isHosted(tool.type));
}

const parsedBytesMax = 16 * 1024;

const hosted =
  /^(?:web_search|web_fetch|file_search|code_interpreter|code_execution|image_generation|mcp|browser)/;
const hostedInText =
  /"type"\s*:\s*"(?:web_search|web_fetch|file_search|code_interpreter|code_execution|image_generation|mcp|browser)/;

/** Other types are of tools that the caller runs: their calls come back to it. */
function isHosted(type: unknown): boolean {
  return typeof type === 'string' && hosted.test(type);
}
