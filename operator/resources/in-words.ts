// How is a list said in a sentence?

/** `A`, `A and B`, `A, B and C`. */
export function inWords(names: readonly string[], word = 'and'): string {
  const last = names.at(-1) ?? '';
  return names.length < 2 ? last : `${names.slice(0, -1).join(', ')} ${word} ${last}`;
}
