// Which events show that an upstream is at its answer?

/**
 * Events about a part of the answer: an item, a text, a call of the upstream's own tools. Events about the response as a whole
 * (`response.in_progress`, `response.queued`, unknown names) may come from an upstream that only waits.
 */
export function isStep(name: string): boolean {
  return ofPart.test(name);
}

const ofPart = /^response\.[a-z0-9_]+\./;
