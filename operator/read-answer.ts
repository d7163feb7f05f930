// What does another process of ours answer, where it answers in JSON of a known shape?

import type { IncomingMessage } from 'node:http';
import type { z } from 'zod';
import { CallFault, readBytes } from '../core/kube/own-call.ts';
import { cutText } from './cut-text.ts';

/** @throws {CallFault} Where it is too long, no JSON, or of another shape. */
export async function readAnswer<T>(
  answer: IncomingMessage,
  schema: z.ZodType<T>,
  bytesMax: number,
): Promise<T> {
  const parsed = schema.safeParse(parseJson((await readBytes(answer, bytesMax)).toString()));
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new CallFault(
    cutText(`its answer is not understood: ${issue?.path.join('.')}: ${issue?.message}`, 200),
  );
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new CallFault('its answer is not JSON');
  }
}
