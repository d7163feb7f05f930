// Which texts may arrive as a request body? Random JSON objects as text, and texts that are nearly one:
// cut off, with something behind them, with bytes changed. The same seed gives the same texts.

export interface Random {
  /** From 0 to `below`, exclusive. */
  below(below: number): number;
  pick<T>(items: readonly [T, ...T[]]): T;
}

export function makeRandom(seed: number): Random {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (limit: number): number => Math.floor(next() * limit);
  return { below, pick: (items) => items[below(items.length)] ?? items[0] };
}

/** A JSON object, sometimes with a name that is twice. */
export function objectText(random: Random): string {
  const members: string[] = [];
  for (let left = random.below(7); left > 0; left--) {
    members.push(
      `${space(random)}${name(random)}${space(random)}:${space(random)}${value(random, 3)}${space(random)}`,
    );
  }
  return `${space(random)}{${members.join(',') || space(random)}}${space(random)}`;
}

/** An object with one thing wrong with it, or a value that is no object. */
export function damagedText(random: Random): string {
  // Half a surrogate pair has no bytes of its own.
  return damaged(random).toWellFormed();
}

function damaged(random: Random): string {
  const text = objectText(random);
  const at = random.below(text.length + 1);
  switch (random.below(6)) {
    case 0:
      return text.slice(0, at);
    case 1:
      return text + random.pick(['x', '{}', ',', ' 1', '\n"a"', '\u0000', '}']);
    case 2:
      return text.slice(0, at) + random.pick(strange) + text.slice(at);
    case 3:
      return text.slice(0, at) + random.pick(strange) + text.slice(at + 1);
    case 4:
      return value(random, 2);
    default:
      return text.slice(at);
  }
}

/** Starts of one name in several spellings, so that names often meet. */
const names = [
  '"model"',
  '"mod\\u0065l"',
  '"stream"',
  '"\\u0073tream"',
  '"messages"',
  '"a"',
  '"b"',
  '"A"',
  '""',
  '"__proto__"',
  '"constructor"',
  '"ключ"',
  '"\\uD83D\\uDE00"',
  '"😀"',
  '"\\ud800"',
  '"a\\"b"',
  '"a\\\\"',
  '"with space"',
  '"n\\n"',
] as const;

const strings = [
  '""',
  '"text"',
  '"\\""',
  '"\\\\"',
  '"\\\\\\""',
  '"{\\"model\\":\\"x\\"}"',
  '"}],:"',
  '"é漢字😀"',
  '"\\u0000"',
  '"line\\nend"',
] as const;

const scalars = [
  'true',
  'false',
  'null',
  '0',
  '-0',
  '12345678901234567890',
  '1e400',
  '-1.5E-7',
  '0.1',
  ...strings,
] as const;

const strange = [
  '"',
  '\\',
  '{',
  '}',
  '[',
  ']',
  ':',
  ',',
  'x',
  "'",
  '/',
  '*',
  '\u0000',
  'é',
  '\u00a0',
  '1',
] as const;

function name(random: Random): string {
  return random.pick(names);
}

function space(random: Random): string {
  return random.pick(['', '', '', ' ', '\n', '\t', '\r\n', '  \n ']);
}

function value(random: Random, depth: number): string {
  const kind = depth === 0 ? 0 : random.below(4);
  if (kind < 2) return random.pick(scalars);
  const items: string[] = [];
  for (let left = random.below(4); left > 0; left--) {
    const item = `${space(random)}${value(random, depth - 1)}${space(random)}`;
    items.push(kind === 2 ? item : `${space(random)}${name(random)}${space(random)}:${item}`);
  }
  const inner = items.join(',') || space(random);
  return kind === 2 ? `[${inner}]` : `{${inner}}`;
}
