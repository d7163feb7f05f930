// Is a member of the request what the dialect says it must be? Small readers that throw a BadRequest naming the member.

export type Path = readonly (string | number)[];

export type Bag = Record<string, unknown>;

/** The caller's mistake, before a dialect puts it into its own words. */
export class BadRequest extends Error {
  override name = 'BadRequest';
  readonly path: Path;
  readonly code: string;
  /** The whole message as the vendor words it; absent: the dialect builds it from the path and the fact. */
  readonly isWhole: boolean;
  /** The type of the error, for a vendor with its own error types. */
  readonly type: string | undefined;
  /** Members of the messages dialect beside the message, for programs. */
  readonly details: Bag | undefined;

  constructor(
    path: Path,
    fact: string,
    code = 'invalid_value',
    options: { isWhole?: boolean; type?: string; details?: Bag } = {},
  ) {
    super(fact);
    this.path = path;
    this.code = code;
    this.isWhole = options.isWhole ?? false;
    this.type = options.type;
    this.details = options.details;
  }
}

export function isBag(value: unknown): value is Bag {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function isAbsent(value: unknown): value is undefined | null {
  return value === undefined || value === null;
}

export function missing(path: Path): BadRequest {
  return new BadRequest(path, 'Field required', 'missing_required_parameter');
}

function wrongType(path: Path, expected: string, value: unknown): BadRequest {
  return new BadRequest(path, `Input should be ${expected}, but it is ${typeName(value)}`, 'invalid_type');
}

export function bag(value: unknown, path: Path): Bag {
  if (value === undefined) throw missing(path);
  if (!isBag(value)) throw wrongType(path, 'an object', value);
  return value;
}

export function list(value: unknown, path: Path, bounds: { min?: number; max?: number } = {}): unknown[] {
  if (value === undefined) throw missing(path);
  if (!Array.isArray(value)) throw wrongType(path, 'an array', value);
  const min = bounds.min ?? 0;
  if (value.length < min)
    throw new BadRequest(path, `Array should have at least ${min} item`, 'array_below_min_length');
  if (bounds.max !== undefined && value.length > bounds.max) {
    throw new BadRequest(path, `Array should have at most ${bounds.max} items`, 'array_above_max_length');
  }
  return value;
}

export function string(value: unknown, path: Path): string {
  if (value === undefined) throw missing(path);
  if (typeof value !== 'string') throw wrongType(path, 'a string', value);
  return value;
}

export function filledString(value: unknown, path: Path): string {
  const text = string(value, path);
  if (text === '') throw new BadRequest(path, 'String should not be empty', 'empty_string');
  return text;
}

export function oneOf<Word extends string>(value: unknown, path: Path, words: readonly Word[]): Word {
  const text = string(value, path);
  const found = words.find((word) => word === text);
  if (found === undefined) {
    const allowed = words.map((word) => `'${word}'`).join(', ');
    throw new BadRequest(path, `Input should be one of ${allowed}, not '${text}'`);
  }
  return found;
}

export function matching(value: unknown, path: Path, pattern: RegExp): string {
  const text = string(value, path);
  if (!pattern.test(text)) {
    throw new BadRequest(
      path,
      `String should match pattern '${pattern.source}', but it is '${text.slice(0, 80)}'`,
    );
  }
  return text;
}

type Bounds = { min?: number; max?: number };

/** An optional number; null counts as absent. */
export function number(value: unknown, path: Path, bounds: Bounds = {}): number | undefined {
  if (isAbsent(value)) return undefined;
  if (typeof value !== 'number') throw wrongType(path, 'a number', value);
  return within(value, path, bounds);
}

/** An optional whole number; null counts as absent. */
export function integer(value: unknown, path: Path, bounds: Bounds = {}): number | undefined {
  if (isAbsent(value)) return undefined;
  if (typeof value !== 'number' || !Number.isInteger(value)) throw wrongType(path, 'an integer', value);
  return within(value, path, bounds);
}

/** An optional truth value; null counts as absent. */
export function boolean(value: unknown, path: Path): boolean | undefined {
  if (isAbsent(value)) return undefined;
  if (typeof value !== 'boolean') throw wrongType(path, 'a boolean', value);
  return value;
}

/** `stop` of the OpenAI dialects: absent, one string, or an array of at most four. */
export function stopList(value: unknown, path: Path): string[] {
  if (isAbsent(value)) return [];
  if (typeof value === 'string') return [value];
  return list(value, path, { min: 1, max: 4 }).map((item, at) => string(item, [...path, at]));
}

/** Refuses members that the vendor would not know either. */
export function onlyKnown(body: Bag, known: ReadonlySet<string>): void {
  for (const name of Object.keys(body)) {
    if (!known.has(name)) throw new BadRequest([name], 'Extra inputs are not permitted', 'unknown_parameter');
  }
}

function within(value: number, path: Path, { min, max }: Bounds): number {
  if (min !== undefined && value < min) {
    throw new BadRequest(
      path,
      `Input should be at least ${min}, but it is ${value}`,
      'integer_below_min_value',
    );
  }
  if (max !== undefined && value > max) {
    throw new BadRequest(
      path,
      `Input should be at most ${max}, but it is ${value}`,
      'integer_above_max_value',
    );
  }
  return value;
}

function typeName(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'an array';
  if (typeof value === 'object') return 'an object';
  return `a ${typeof value}`;
}
