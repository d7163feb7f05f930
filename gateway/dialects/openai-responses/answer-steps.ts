// Which events show that an upstream is at its answer?

/**
 * Those about a part of it: an item, a text, a call of the upstream's own tools. What is about the response as a whole
 * (`response.in_progress`, `response.queued`, unknown names) may be sent by an upstream that only waits.
 */
export function isStep(name: string): boolean {
  return ofPart.test(name);
}

const ofPart = /^response\.[a-z0-9_]+\./;
