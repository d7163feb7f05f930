// What does a text of metrics say? Read by the rules of the Prometheus text format, strictly.

export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

export interface Family {
  readonly name: string;
  readonly type: string;
  readonly help: string;
  readonly samples: readonly Sample[];
}

/** @throws {Error} naming the first line that breaks the format. */
export function parseExposition(text: string): readonly Family[] {
  if (!text.endsWith('\n')) throw new Error('the last line does not end');
  const families: { name: string; type: string; help: string; samples: Sample[] }[] = [];
  for (const line of text.split('\n')) {
    if (line === '') continue;
    const help = /^# HELP (\S+) (.+)$/.exec(line);
    const type = /^# TYPE (\S+) (counter|gauge|histogram|summary|untyped)$/.exec(line);
    const family = families.at(-1);
    if (help) {
      const [, name = '', words = ''] = help;
      if (families.some((other) => other.name === name)) throw new Error(`a second ${name}`);
      families.push({ name, type: '', help: words, samples: [] });
    } else if (type) {
      if (!family || family.name !== type[1]) throw new Error(`a type without a help: ${line}`);
      family.type = type[2] ?? '';
    } else {
      const sample = parseSample(line);
      if (!family || !isOf(sample.name, family)) throw new Error(`a sample in the wrong place: ${line}`);
      const key = JSON.stringify([sample.name, sample.labels]);
      if (family.samples.some((other) => JSON.stringify([other.name, other.labels]) === key)) {
        throw new Error(`a series twice: ${line}`);
      }
      family.samples.push(sample);
    }
  }
  return families;
}

function isOf(name: string, { name: family, type }: { name: string; type: string }): boolean {
  if (type !== 'histogram' && type !== 'summary') return name === family;
  return ['', '_bucket', '_sum', '_count'].some((suffix) => name === family + suffix);
}

const unescaped: Readonly<Record<string, string>> = { '\\\\': '\\', '\\"': '"', '\\n': '\n' };

function parseSample(line: string): Sample {
  const found = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$/.exec(line);
  if (!found) throw new Error(`not a sample: ${line}`);
  const [, name = '', inner = '', number = ''] = found;
  const labels: Record<string, string> = {};
  let rest = inner;
  while (rest !== '') {
    const label = /^([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\[\\"n])*)"(,|$)/.exec(rest);
    if (!label) throw new Error(`not a label: ${rest}`);
    const [whole, key = '', value = ''] = label;
    labels[key] = value.replace(/\\[\\"n]/g, (sequence) => unescaped[sequence] ?? sequence);
    rest = rest.slice(whole.length);
  }
  const value = number === '+Inf' ? Number.POSITIVE_INFINITY : Number(number);
  // prom-client writes `Nan`; Prometheus reads numbers without regard to case.
  if (Number.isNaN(value) && !/^nan$/i.test(number)) throw new Error(`not a number: ${line}`);
  return { name, labels, value };
}
