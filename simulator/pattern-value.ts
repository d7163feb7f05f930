// Which short string matches this regular expression? For the simple patterns that schemas carry.
//
// Understood: literals, escapes (\d \w \s and literal ones), classes, groups, alternation (the first branch is taken),
// quantifiers (the fewest repetitions are taken), anchors. Anything else makes the result a guess, and the caller gets
// the plain fallback instead.

/** A string that matches the pattern, grown to at least `lengthMin` characters where the pattern lets it; else the fallback. */
export function valueForPattern(pattern: string, lengthMin = 0, fallback = 'sim'): string {
  const expression = compile(pattern);
  if (expression === undefined) return fallback;
  // An open quantifier takes more repetitions until the string is long enough.
  for (const extra of [0, 1, 2, 4, 8, 16, 32, 64, lengthMin]) {
    const value = new Sampler(pattern, extra).sample();
    if (value !== undefined && value.length >= lengthMin && expression.test(value)) return value;
  }
  return fallback;
}

function compile(pattern: string): RegExp | undefined {
  try {
    return new RegExp(pattern, 'u');
  } catch {
    return undefined;
  }
}

// A recursive descent over the pattern that writes instead of matching.
class Sampler {
  readonly #pattern: string;
  readonly #extra: number;
  #at = 0;
  #isUnderstood = true;

  constructor(pattern: string, extra: number) {
    this.#pattern = pattern;
    this.#extra = extra;
  }

  sample(): string | undefined {
    const value = this.#alternatives();
    return this.#isUnderstood && this.#at === this.#pattern.length ? value : undefined;
  }

  #alternatives(): string {
    const first = this.#sequence();
    while (this.#pattern[this.#at] === '|') {
      this.#at += 1;
      this.#sequence();
    }
    return first;
  }

  #sequence(): string {
    let value = '';
    while (this.#isUnderstood && this.#at < this.#pattern.length) {
      const next = this.#pattern[this.#at];
      if (next === '|' || next === ')') break;
      const atom = this.#atom();
      value += atom.repeat(this.#repetitions());
    }
    return value;
  }

  #atom(): string {
    const next = this.#pattern[this.#at] ?? '';
    this.#at += 1;
    if (next === '^' || next === '$') return '';
    if (next === '.') return 'a';
    if (next === '[') return this.#class();
    if (next === '(') return this.#group();
    if (next === '\\') return this.#escape();
    if ('*+?{'.includes(next)) this.#isUnderstood = false;
    return next;
  }

  #group(): string {
    if (this.#pattern.startsWith('?:', this.#at)) this.#at += 2;
    else if (this.#pattern[this.#at] === '?') {
      const name = /^\?<[A-Za-z]\w*>/.exec(this.#pattern.slice(this.#at));
      if (name === null) this.#isUnderstood = false;
      else this.#at += name[0].length;
    }
    const value = this.#alternatives();
    if (this.#pattern[this.#at] !== ')') this.#isUnderstood = false;
    this.#at += 1;
    return value;
  }

  #escape(): string {
    const next = this.#pattern[this.#at] ?? '';
    this.#at += 1;
    if (next === 'd') return '1';
    if (next === 'w') return 'a';
    if (next === 's') return ' ';
    if (next === 'D' || next === 'S') return 'a';
    if (next === 'W') return '-';
    if (next === 'b' || next === 'B') return '';
    if (/[A-Za-z0-9]/.test(next)) this.#isUnderstood = false;
    return next;
  }

  // The class is handed to the engine: the first of some likely characters that it accepts.
  #class(): string {
    const start = this.#at - 1;
    while (this.#at < this.#pattern.length && this.#pattern[this.#at] !== ']') {
      this.#at += this.#pattern[this.#at] === '\\' ? 2 : 1;
    }
    this.#at += 1;
    const expression = compile(`^${this.#pattern.slice(start, this.#at)}$`);
    const found = Array.from(likelyCharacters).find((character) => expression?.test(character));
    if (found === undefined) this.#isUnderstood = false;
    return found ?? '';
  }

  #repetitions(): number {
    const quantifier = /^(?:([*+?])|\{(\d+)(?:(,)(\d*))?\})\??/.exec(this.#pattern.slice(this.#at));
    if (quantifier === null) return 1;
    this.#at += quantifier[0].length;
    const [, sign, minText, comma, maxText] = quantifier;
    const min = sign === '+' ? 1 : Number(minText ?? 0);
    if (sign === '?') return 0;
    if (sign !== undefined) return min + this.#extra;
    if (comma === undefined) return min;
    return maxText === '' || maxText === undefined
      ? min + this.#extra
      : Math.min(min + this.#extra, Number(maxText));
  }
}

const likelyCharacters = 'abcxyzABCXYZ0123456789_-./:@# ,;+*=~!?&%$<>(){}[]|\\^\'"`éß€';
