// What do the suites of all SDKs ask for? The same tools, the same image, the same form of an answer.

import { z } from 'zod';
import type { UpstreamDialectName } from '../../core/contract/routing-table.ts';

export const hello = 'Hello there';

/** A white pixel. */
export const pixel =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8/5+hHgAHggJ/PchI7wAAAABJRU5ErkJggg==';

export const city = z.object({ name: z.string(), people: z.number().int() });
export const simCity = { name: 'sim', people: 1 };

const oneString = (name: string) => ({
  type: 'object' as const,
  properties: { [name]: { type: 'string' as const } },
  required: [name],
  additionalProperties: false,
});

/** Two tools, and what each says when it runs. */
export const toolkit = [
  {
    name: 'weather',
    description: 'The weather of a city',
    parameters: oneString('city'),
    run: (input: Readonly<Record<string, unknown>>) => `sunny in ${String(input.city)}`,
  },
  {
    name: 'clock',
    description: 'The time in a zone',
    parameters: oneString('zone'),
    run: (input: Readonly<Record<string, unknown>>) => `noon in ${String(input.zone)}`,
  },
] as const;

export const toolAnswers = ['sunny in sim', 'noon in sim'];

/** Runs the tool of that name. */
export function runTool(name: string, input: unknown): string {
  const tool = toolkit.find((one) => one.name === name);
  if (tool === undefined) throw new Error(`no tool is called ${name}`);
  return tool.run(typeof input === 'object' && input !== null ? { ...input } : {});
}

/** How many of a provider's own states, given with earlier answers, a request brings back to it. */
export function statesIn(body: unknown, dialect: UpstreamDialectName): number {
  // What the simulator seals begins like this; chat has no sealed state, only the words themselves.
  const mark = dialect === 'openai-chat' ? '"reasoning_content":"' : '"simulator1.';
  return JSON.stringify(body).split(mark).length - 1;
}
