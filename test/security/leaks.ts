// Does a secret stand where it must not? Looked for in every form that it could be written in: as it is, line by line, in base64
// at any place of a longer text, percent-encoded, escaped as in JSON.

/** By what the secret is called, for the report: its value is in no report of a test either. */
export type Secrets = ReadonlyMap<string, string>;

/** Texts by the place they were found in. */
export type Texts = Readonly<Record<string, string>>;

/** Shorter values stand in texts by chance. */
const lengthMin = 12;

/** One line for each secret in each place that shows it; never its value. However many secrets: each text is read once. */
export function findLeaks(secrets: Secrets, texts: Texts): readonly string[] {
  const byStart = new Map<string, { readonly name: string; readonly form: string }[]>();
  // Nearly every place of a text is passed over by its four letters alone.
  const beginnings = new Uint8Array(2 ** 16);
  for (const [name, value] of secrets) {
    for (const form of formsOf(value)) {
      const start = form.slice(0, lengthMin);
      byStart.set(start, [...(byStart.get(start) ?? []), { name, form }]);
      beginnings[beginningAt(form, 0)] = 1;
    }
  }
  return Object.entries(texts).flatMap(([place, text]) => {
    const names = new Set<string>();
    for (let at = 0; at + lengthMin <= text.length; at++) {
      if (beginnings[beginningAt(text, at)] === 0) continue;
      for (const { name, form } of byStart.get(text.slice(at, at + lengthMin)) ?? [])
        if (text.startsWith(form, at)) names.add(name);
    }
    return [...names].map((name) => `${name} in ${place}`);
  });
}

/** Of the four letters there: the same for the same ones, and hardly ever for others. */
function beginningAt(text: string, at: number): number {
  const [a, b] = [text.charCodeAt(at), text.charCodeAt(at + 1)];
  const [c, d] = [text.charCodeAt(at + 2), text.charCodeAt(at + 3)];
  return (a * 31_337 + b * 1_009 + c * 127 + d * 7) & 0xffff;
}

function formsOf(value: string): readonly string[] {
  const lines = value.split(/\r?\n/).filter((line) => !/^-----/.test(line));
  const forms = [
    value,
    ...lines,
    JSON.stringify(value).slice(1, -1),
    encodeURIComponent(value),
    ...[0, 1, 2].map((shift) => base64Inside(value, shift)),
    ...[0, 1, 2].map((shift) => base64Inside(value, shift).replaceAll('+', '-').replaceAll('/', '_')),
    Buffer.from(value).toString('hex'),
  ];
  return [...new Set(forms)].filter(({ length }) => length >= lengthMin);
}

/** What base64 shows of a value that so many bytes stand before, and any behind. */
function base64Inside(value: string, bytesBefore: number): string {
  const text = Buffer.concat([Buffer.alloc(bytesBefore), Buffer.from(value)]).toString('base64');
  const from = bytesBefore === 0 ? 0 : 4;
  return text.slice(from, Math.floor(text.replace(/=+$/, '').length / 4) * 4);
}
