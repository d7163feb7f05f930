// Which models does a provider list? Read leniently: OpenAI's and Anthropic's `data`, `models` of others, ids or names. Pure.

import { parseJson } from '../../core/parse-json.ts';

/** As a ModelRoute may name it: whatever else a server writes is no id, and is not passed on. */
const idPattern = /^[A-Za-z0-9@~_][A-Za-z0-9._:/@+~=%,-]{0,255}$/;

/** @returns undefined if the body is no list. */
export function readModels(body: string): readonly string[] | undefined {
  const outer = parseJson(body);
  const { data, models } = recordOf(outer);
  const list = [outer, data, models].find(Array.isArray);
  if (list === undefined) return undefined;
  const ids = list.map((entry: unknown) => {
    const { id, name } = recordOf(entry);
    return typeof entry === 'string' ? entry : (id ?? name);
  });
  return [...new Set(ids.filter((id): id is string => typeof id === 'string' && idPattern.test(id)))];
}

function recordOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {};
}
