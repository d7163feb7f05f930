// Which JSON costs its reader far more than its writer? Deep, wide, long, and in numbers and names that parsers stumble over.

/** A bomb of about `bytes`, as a request to the model would hold it. */
export type Bomb = (model: string, bytes: number) => string;

const around = (model: string, name: string, value: string): string =>
  `{"model":${JSON.stringify(model)},"messages":[{"role":"user","content":"x"}],${JSON.stringify(name)}:${value}}`;

const filled = (part: string, bytes: number): string =>
  part.repeat(Math.max(1, Math.floor(bytes / part.length)));

const listOf = (part: string, bytes: number): string => `[${filled(`${part},`, bytes).slice(0, -1)}]`;

export const bombs: Readonly<Record<string, Bomb>> = {
  deepLists: (model, bytes) => around(model, 'x', `${filled('[', bytes / 2)}${filled(']', bytes / 2)}`),
  deepObjects: (model, bytes) =>
    around(model, 'x', `${filled('{"a":', bytes)}1${'}'.repeat(Math.floor(bytes / 5))}`),
  neverClosed: (model, bytes) => around(model, 'x', filled('[', bytes)).slice(0, -1),
  emptyLists: (model, bytes) => around(model, 'x', listOf('[]', bytes)),
  emptyObjects: (model, bytes) => around(model, 'x', listOf('{}', bytes)),
  zeros: (model, bytes) => around(model, 'x', listOf('0', bytes)),
  longNumber: (model, bytes) => around(model, 'x', filled('9', bytes)),
  manyNumbers: (model, bytes) => around(model, 'x', listOf('1.7976931348623157e308', bytes)),
  longString: (model, bytes) => around(model, 'x', `"${filled('x', bytes)}"`),
  escapes: (model, bytes) => around(model, 'x', `"${filled('\\u0000', bytes)}"`),
  backslashes: (model, bytes) => around(model, 'x', `"${filled('\\\\', bytes)}"`),
  spaces: (model, bytes) => around(model, 'x', `${filled(' ', bytes)}1`),
  oneName: (model, bytes) => around(model, 'x', `{${filled('"a":1,', bytes).slice(0, -1)}}`),
  manyNames: (model, bytes) =>
    `{"model":${JSON.stringify(model)},${Array.from({ length: Math.floor(bytes / 12) }, (_, n) => `"n${n}":1`).join(',')}}`,
  repeatedModel: (model, bytes) => `{${filled(`"model":${JSON.stringify(model)},`, bytes)}"messages":[]}`,
  prototypes: (model, bytes) => around(model, '__proto__', listOf('{"constructor":{"prototype":{}}}', bytes)),
  manyMessages: (model, bytes) =>
    `{"model":${JSON.stringify(model)},"messages":${listOf('{"role":"user","content":"x"}', bytes)}}`,
};

/** From a few bytes to more than is taken; most are small enough to be many. */
export function bombBytes(random: () => number): number {
  return Math.floor(64 * 2 ** (random() * 15));
}
