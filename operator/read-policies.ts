// TenantPolicies from the chart's values. Each applies until an object of its name exists.

import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { parseJson } from '../core/parse-json.ts';
import { createPolicyJudge } from './compile/judge-policies.ts';
import type { RawPolicy } from './watch/snapshot.ts';

const listSchema = z.array(z.looseObject({ metadata: z.looseObject({ name: z.string() }) }));

/**
 * @param file a JSON list, each of them as it would be applied; undefined: there are none.
 * @throws {Error} naming the file, and the field that is wrong.
 */
export async function readPolicies(file: string | undefined): Promise<readonly RawPolicy[]> {
  if (file === undefined) return [];
  const parsed = listSchema.safeParse(parseJson(await readFile(file, 'utf8')));
  if (!parsed.success) throw new Error(`${file}: must be a JSON list of TenantPolicies`);
  for (const { object, problems } of createPolicyJudge({ servicePrefix: '' })(parsed.data)) {
    const [first] = problems;
    if (first !== undefined)
      throw new Error(`${file}: ${object.metadata.name}: ${first.path}: ${first.message}`);
  }
  return parsed.data;
}
