// The body of a question, checked against its schema.

import type { z } from 'zod';
import { badParameter } from './errors.ts';

/** @throws {ApiError} that names the member; never with a value. */
export function readMembers<Members>(schema: z.ZodType<Members>, text: string): Members {
  const parsed = schema.safeParse(parseJson(text));
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  if (issue?.code === 'unrecognized_keys')
    throw badParameter(`${issue.keys.join(', ')}: is no member of this question`);
  throw badParameter(`${issue?.path.join('.') || 'body'}: ${issue?.message}`);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw badParameter('body: is not valid JSON');
  }
}
