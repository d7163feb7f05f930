// Which chunks does a plain answer of an OpenAI-shaped dialect stand for? One with all of its choices, and one with the counts.

import type { JsonRecord } from '../../json/record.ts';

export function encodeOpenAiEvents(
  { usage, choices, ...head }: JsonRecord,
  object: string,
  chunkChoice: (choice: unknown) => unknown,
): string {
  const entries: readonly unknown[] = Array.isArray(choices) ? choices : [];
  const chunks = [{ ...head, object, choices: entries.map(chunkChoice) }];
  const usageChunks = usage === undefined ? [] : [{ ...head, object, choices: [], usage }];
  const frames = [...chunks, ...usageChunks].map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`);
  return `${frames.join('')}data: [DONE]\n\n`;
}
