// What of messages does Claude refuse at a cloud, and not at its vendor? One sentence for each, as the answer says it.

import { isBag } from '../checks.ts';

/** An image or a document by URL, at any depth: a cloud fetches nothing. */
export function faultOfSources(value: unknown, path = 'messages'): string | undefined {
  if (Array.isArray(value)) return firstFault(value.entries(), path);
  if (!isBag(value)) return undefined;
  if (isBag(value.source) && value.source.type === 'url')
    return `${path}.source.type: Input should be 'base64'`;
  return firstFault(Object.entries(value), path);
}

function firstFault(
  entries: Iterable<readonly [string | number, unknown]>,
  path: string,
): string | undefined {
  for (const [name, inner] of entries) {
    const fault = faultOfSources(inner, `${path}.${name}`);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

/** A schema of the answer, or of a strict tool. */
export function faultOfSchemas({
  output_config: config,
  tools,
}: Record<string, unknown>): string | undefined {
  if (isBag(config) && config.format !== undefined) return notPermitted('output_config.format');
  const strict = Array.isArray(tools) ? tools.findIndex((tool) => isBag(tool) && tool.strict === true) : -1;
  return strict === -1 ? undefined : notPermitted(`tools.${strict}.custom.strict`);
}

function notPermitted(name: string): string {
  return `${name}: Extra inputs are not permitted`;
}
