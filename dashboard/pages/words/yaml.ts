// How is an object written as YAML, ready for kubectl and Git? Only what our own plain objects hold: text, numbers, truth, lists, maps.

export type Plain =
  | string
  | number
  | boolean
  | null
  | readonly Plain[]
  | { readonly [key: string]: Plain | undefined };

/** One document for each object. */
export function toYaml(objects: readonly Plain[]): string {
  return objects.map((object) => `${block(object, 0).replace(/^\n/, '')}\n`).join('---\n');
}

/** Behind a colon or a dash: ` value`, or lines of their own below it. */
function block(value: Plain, depth: number): string {
  const indent = '  '.repeat(depth);
  if (Array.isArray(value)) {
    if (value.length === 0) return ' []';
    // The first line of an entry follows its dash.
    return value
      .map((entry: Plain) => `\n${indent}- ${block(entry, depth + 1).replace(/^\n? */, '')}`)
      .join('');
  }
  if (typeof value === 'object' && value !== null) {
    const entries = Object.entries(value).filter(([, entry]) => entry !== undefined);
    if (entries.length === 0) return ' {}';
    return entries
      .map(([key, entry]) => `\n${indent}${scalar(key)}:${block(entry as Plain, depth + 1)}`)
      .join('');
  }
  return ` ${scalar(value as string | number | boolean | null)}`;
}

/** Words that a reader of YAML 1.1 or 1.2 takes for something else than text. */
const notText = /^(?:~|null|true|false|yes|no|on|off|y|n|\.inf|\.nan|e[-+]?\d+)$/i;
const plainText = /^[A-Za-z/_][A-Za-z0-9/_.@+-]*(?: [A-Za-z0-9/_.@+-]+)*$/;

function scalar(value: string | number | boolean | null): string {
  if (typeof value !== 'string') return String(value);
  // JSON's own quotes are those of YAML, but for what JSON leaves as it is and YAML counts as a line break or as not printable.
  if (!plainText.test(value) || notText.test(value))
    return JSON.stringify(value).replace(
      /[\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff]/g,
      (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
    );
  return value;
}
