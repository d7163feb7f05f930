// A manifest that is changed by a program looks afterwards as if a person had changed that one thing.

import { globSync, readFileSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Document, parse, parseAllDocuments } from 'yaml';
import { listKeys } from '../../../local/dashboard/change-nodes.ts';
import { EditRefused, editText } from '../../../local/dashboard/edit-text.ts';
import { LASTING } from '../../../local/dashboard/judge-object.ts';
import { parseLabelSelector } from '../../../local/dashboard/label-selector.ts';
import { mergePatch } from '../../../local/dashboard/merge-patch.ts';
import { createFile, FileChanged, replaceFile } from '../../../local/dashboard/write-file.ts';
import { runs } from '../../support/runs.ts';

const project = join(import.meta.dirname, '../../..');

interface Crd {
  readonly spec: {
    readonly versions: readonly {
      readonly schema: { readonly openAPIV3Schema: { readonly properties: { readonly spec: unknown } } };
    }[];
  };
}

const valuesOf = (content: string): unknown[] =>
  parseAllDocuments(content, { merge: true }).map((document) => document.toJS() as unknown);

/** Puts values into an object, at names such as `spec.limits`. */
function withValues(object: unknown, values: Readonly<Record<string, unknown>>): object {
  const patches = Object.entries(values).map(([path, value]) =>
    path.split('.').reduceRight<unknown>((inner, name) => ({ [name]: inner }), value),
  );
  return patches.reduce<object>((whole, patch) => mergePatch(whole, patch) as object, object as object);
}

const edit = (content: string, document: number, values: Readonly<Record<string, unknown>>) =>
  editText({ content, document, path: [] }, (written) => withValues(written, values));

describe('one change', () => {
  test.each<[string, string, Record<string, unknown>, string]>([
    [
      'a number',
      'spec:\n  limit: 60   # a minute\n',
      { 'spec.limit': 90 },
      'spec:\n  limit: 90 # a minute\n',
    ],
    ['quotes', 'a: "1"\nb: \'2\'\n', { a: '3' }, 'a: "3"\nb: \'2\'\n'],
    ['a word that other readers take for true', 'a: x\n', { a: 'yes' }, 'a: "yes"\n'],
    ['text to number', 'a: "1"\n', { a: 1 }, 'a: 1\n'],
    ['what is left out, with the words about it', 'a: 1 # one\n# two\nb: 2\n', { b: null }, 'a: 1 # one\n'],
    ['a name that is no text', 'a:\n  8080: x # web\n', { 'a.8080': 'z' }, 'a:\n  8080: z # web\n'],
    ['spaces in braces', 'a: {b: 1}\nc: [ 1,2 ]\nd: 1\n', { d: 2 }, 'a: {b: 1}\nc: [ 1,2 ]\nd: 2\n'],
    ['blank lines', 'a: 1\n\n\n\nb:   x\n\n\nc: 3\n', { c: 4 }, 'a: 1\n\n\n\nb:   x\n\n\nc: 4\n'],
    ['lists without indent', 'l:\n- a   # one\n- b\nx: 1\n', { x: 2 }, 'l:\n- a   # one\n- b\nx: 2\n'],
    ['no end of line at the end', 'a: 1', { a: 2 }, 'a: 2'],
    ['lines of Windows', 'a: 1 # one\r\nb: 2\r\n', { b: 3 }, 'a: 1 # one\r\nb: 3\r\n'],
    ['a folded text', 'a: >\n  one\n  two\n\nb: 1\n', { b: 2 }, 'a: >\n  one\n  two\n\nb: 2\n'],
    [
      'a list as kubectl writes it that goes, and not the words behind it',
      'spec:\n  budgets:\n  - period: Month # five\n  # the user of the key\n  owner:\n    name: Ada\n',
      { 'spec.budgets': null },
      'spec:\n  # the user of the key\n  owner:\n    name: Ada\n',
    ],
    [
      'such a list at the end of all, and not the words at the end of the file',
      'spec:\n  on: true # on\n  budgets:\n  - period: Month # m\n  # behind it\n# tail\n',
      { 'spec.budgets': null },
      'spec:\n  on: true # on\n  # behind it\n# tail\n',
    ],
    [
      'a name without a value, which gets one',
      'spec:\n  owner: # nobody yet\n  # about the state\n  on: true\n',
      { 'spec.owner': { name: 'Ada' } },
      'spec:\n  owner:\n    # nobody yet\n    name: Ada\n  # about the state\n  on: true\n',
    ],
    [
      'a name without a value at the end of all',
      'spec:\n  on: true\n  limits: # none yet\n# tail\n',
      { 'spec.limits': { requests: 5 } },
      'spec:\n  on: true\n  limits:\n    # none yet\n    requests: 5\n# tail\n',
    ],
    [
      'a word in whose place a list comes',
      'spec:\n  models: all # for now\n  on: true\n',
      { 'spec.models': ['a'] },
      'spec:\n  models:\n    # for now\n    - a\n  on: true\n',
    ],
    [
      'an item that is added',
      'l:\n  - name: a # one\n',
      { l: [{ name: 'a' }, { name: 'b' }] },
      'l:\n  - name: a # one\n  - name: b\n',
    ],
    [
      'an item that moves',
      'l:\n  - name: a # one\n  - name: b\n',
      { l: [{ name: 'b' }, { name: 'a' }] },
      'l:\n  - name: b\n  - name: a # one\n',
    ],
    [
      'a budget that goes, by its period',
      'l:\n  - period: Day # daily\n  # with finance\n  - period: Month # finance\n    limit: 1\n',
      { l: [{ period: 'Month', limit: 1, action: 'Block' }] },
      'l:\n  # with finance\n  - period: Month # finance\n    limit: 1\n    action: Block\n',
    ],
    [
      'a key in the place of another',
      'l:\n  - sha256: a # of ada\n    hint: a\n',
      { l: [{ sha256: 'b', hint: 'b' }] },
      'l:\n  - sha256: b\n    hint: b\n',
    ],
    [
      'in an item without a name',
      'l:\n  - a: 1\n    # the limit\n    b: 2\n',
      { l: [{ a: 1, b: 3 }] },
      'l:\n  - a: 1\n    # the limit\n    b: 3\n',
    ],
    [
      'JSON',
      '{\n    "a": 1,\n    "b": [1, 2]\n}\n',
      { a: 2 },
      '{\n    "a": 2,\n    "b": [\n        1,\n        2\n    ]\n}\n',
    ],
  ])('%s', (_, before, values, after) => {
    expect(edit(before, 0, values)).toBe(after);
  });

  test('in an item of a list changes that item alone', () => {
    const content = 'kind: List\nitems:\n  # first\n  - {a: 1}\n  - a: 2 # second\n    b: 1\n';
    const spot = { content, document: 0, path: ['items', 1] };
    expect(editText(spot, (written) => withValues(written, { b: 2 }))).toBe(content.replace('b: 1', 'b: 2'));
    expect(editText({ ...spot, path: ['items', 0] }, undefined)).not.toContain('{a: 1}');
  });

  test.each([
    ['an anchor that others use', 'a: &one {x: 1}\nb: *one\n', { 'a.x': 2 }],
    ['an anchor that goes while others use it', 'a: &one {x: 1}\nb: *one\n', { a: null }],
    ['what a merge key brings', 'base: &base {x: 1}\nown:\n  <<: *base\n  y: 2\n', { 'own.x': null }],
  ])('of %s is refused, since it would be another change', (_, content, values) => {
    expect(() => edit(content, 0, values)).toThrow(EditRefused);
  });

  test('of a deleted object is refused if another one uses its anchor', () => {
    const content = 'kind: List\nitems:\n  - spec: &one {x: 1}\n  - spec: *one\n';
    expect(() => editText({ content, document: 0, path: ['items', 0] }, undefined)).toThrow(EditRefused);
  });

  test('beside anchors is made', () => {
    const content = 'a: &one {x: 1}\nb: *one\nc: 1\n';
    expect(edit(content, 0, { c: 2 })).toBe(content.replace('c: 1', 'c: 2'));
    expect(edit(content, 0, { b: { x: 2 } })).toBe(
      'a: &one {x: 1}\nb: { x: 2 }\nc: 1\n'.replace('{ x: 2 }', '\n  x: 2').replace('b: \n', 'b:\n'),
    );
  });

  test('of every object in our own examples changes its own lines only', () => {
    const folder = new URL('../../../docs/examples/', import.meta.url).pathname;
    let edits = 0;
    for (const file of globSync(`${folder}**/*.yaml`)) {
      const content = readFileSync(file, 'utf8');
      for (const [document, value] of valuesOf(content).entries()) {
        if (typeof value !== 'object' || value === null) continue;
        const lines = new Set(edit(content, document, { 'spec.displayName': 'Another name' })?.split('\n'));
        const lost = content.split('\n').filter((line) => !lines.has(line));
        expect([file, lost.filter((line) => !/displayName|spec: \{/.test(line))]).toEqual([file, []]);
        edits += 1;
      }
    }
    expect(edits).toBeGreaterThan(10);
  });
});

test('a file is deleted with its last object; another document stays unchanged', () => {
  const content = '# All of it\na: 1\n---\n# The second\nb:   2\n';
  expect(editText({ content: '# One\na: 1\n', document: 0, path: [] }, undefined)).toBeUndefined();
  expect(editText({ content, document: 0, path: [] }, undefined)).toBe(
    '# All of it\n---\n# The second\nb:   2\n',
  );
  expect(editText({ content, document: 1, path: [] }, undefined)).toBe('# All of it\na: 1\n');
});

describe('for any files and any changes', () => {
  const word = fc.constantFrom(
    'alpha',
    'beta',
    'gamma',
    'delta',
    'name',
    'yes',
    '08',
    '1e3',
    '- x',
    'a: b',
    '#x',
    '',
  );
  const scalar = fc.oneof(word, fc.integer({ min: -5, max: 99_999 }), fc.boolean());
  const { value } = fc.letrec<{ value: unknown }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 3, withCrossShrink: true },
      scalar,
      fc.array(tie('value'), { maxLength: 3 }),
      fc.dictionary(word, tie('value'), { maxKeys: 4, noNullPrototype: true }),
    ),
  }));
  const object = fc.dictionary(fc.constantFrom('spec', 'metadata', 'kind', 'data'), value, {
    minKeys: 1,
    maxKeys: 4,
    noNullPrototype: true,
  });
  /** What people do to a text: a comment behind a line or above it, lines left blank. */
  const hand = fc.array(fc.tuple(fc.nat({ max: 40 }), fc.constantFrom('above', 'behind', 'blank')), {
    maxLength: 6,
  });

  function writeByHand(
    values: object,
    touches: readonly (readonly [number, string])[],
    tag: string,
    indentSeq = true,
  ): string {
    const text = new Document(values, { aliasDuplicateObjects: false, compat: 'yaml-1.1' }).toString({
      lineWidth: 0,
      indentSeq,
    });
    const lines = text.trimEnd().split('\n');
    for (const [index, [at, what]] of touches.entries()) {
      const place = at % lines.length;
      const line = lines[place] ?? '';
      const indent = /^[ ]*/.exec(line)?.[0] ?? '';
      const comment = `# ${tag} ${index} comment`;
      if (what === 'above') lines.splice(place, 0, `${indent}${comment}`);
      else if (what === 'blank') lines.splice(place, 0, '', '');
      else if (!line.includes('#') && !/[|>]$|["']/.test(line)) lines[place] = `${line}  ${comment}`;
    }
    return lines.join('\n');
  }

  test('every other document is the same byte for byte, and no comment is lost beside a removed field', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(object, hand), { minLength: 1, maxLength: 4 }),
        fc.nat(),
        fc.dictionary(fc.constantFrom('spec', 'added', 'data'), value, {
          minKeys: 1,
          maxKeys: 3,
          noNullPrototype: true,
        }),
        (documents, choice, values) => {
          const texts = documents.map(([one, touches], index) => writeByHand(one, touches, `doc${index}`));
          const content = `${texts.join('\n---\n')}\n`;
          const target = choice % texts.length;
          const before = valuesOf(content);
          const wanted = { ...(before[target] as object), ...values };
          const edited = editText({ content, document: target, path: [] }, () => wanted) ?? '';
          expect(valuesOf(edited)).toEqual(before.with(target, wanted));
          for (const [index, text] of texts.entries()) if (index !== target) expect(edited).toContain(text);
          // Comments inside of what took another value go with it; before all of it there is none that may.
          const [own = ''] = texts.slice(target);
          const [head = ''] = /^(?:#.*\n)*/.exec(own) ?? [];
          for (const line of head.split('\n')) expect(edited).toContain(line);
        },
      ),
      { numRuns: runs(150, 4) },
    );
  });

  test('a new value of one field keeps every comment of the document', () => {
    fc.assert(
      fc.property(object, hand, scalar, (one, touches, next) => {
        const content = `${writeByHand({ ...one, added: 'before' }, touches, 'own')}\n`;
        const edited = edit(content, 0, { added: next }) ?? '';
        const comments = (text: string) => text.match(/# own \d comment/g) ?? [];
        expect(comments(edited)).toEqual(comments(content));
        const lines = new Set(edited.split('\n'));
        const lost = content.split('\n').filter((line) => !lines.has(line));
        expect(lost.filter((line) => !line.startsWith('added:'))).toEqual([]);
      }),
      { numRuns: runs(150, 4) },
    );
  });

  test('a field that is removed, or changes its type, takes only its own comment along', () => {
    const fields = fc.dictionary(fc.constantFrom('a', 'b', 'c', 'd'), fc.oneof(value, fc.constant(null)), {
      minKeys: 1,
      noNullPrototype: true,
    });
    fc.assert(
      fc.property(
        fields,
        hand,
        fc.boolean(),
        fc.nat(),
        fc.option(value),
        (spec, touches, isDeep, at, next) => {
          const content = `${writeByHand({ kind: 'x', spec, end: 'y' }, touches, 'own', isDeep)}\n`;
          const name = Object.keys(spec).sort()[at % Object.keys(spec).length] ?? '';
          const edited = editText({ content, document: 0, path: [] }, () => ({
            kind: 'x',
            spec: Object.fromEntries(
              Object.entries(spec).flatMap(([key, was]) =>
                key !== name ? [[key, was]] : next === null ? [] : [[key, next]],
              ),
            ),
            end: 'y',
          }));
          const lines = content.split('\n');
          const isComment = (line: string) => /^ *(#|$)/.test(line);
          const first = lines.findIndex((line) => line.startsWith(`  ${name}:`));
          const above = lines.findLastIndex((line, index) => index < first && !isComment(line)) + 1;
          const behind = lines.findIndex(
            (line, index) => index > first && !isComment(line) && /^ {0,2}[^ -]/.test(line),
          );
          const last = lines.findLastIndex((line, index) => index < behind && !isComment(line));
          const others = lines.toSpliced(above, last + 1 - above).join('\n');
          for (const comment of others.match(/# own \d comment/g) ?? []) expect(edited).toContain(comment);
        },
      ),
      { numRuns: runs(300, 4) },
    );
  });
});

describe('a file', () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'penstock-write-'));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  test('that was changed since it was read is not overwritten, and no draft stays', async () => {
    const path = join(folder, 'a.yaml');
    await writeFile(path, 'by hand');
    await expect(replaceFile(path, 'as read', 'by program')).rejects.toThrow(FileChanged);
    await expect(replaceFile(path, 'as read', undefined)).rejects.toThrow(FileChanged);
    await expect(replaceFile(join(folder, 'gone.yaml'), 'as read', 'x')).rejects.toThrow(FileChanged);
    expect(await readFile(path, 'utf8')).toBe('by hand');
    expect(await readdir(folder)).toEqual(['a.yaml']);
  });

  test('keeps its permissions, and a link stays one', async () => {
    const path = join(folder, 'b.yaml');
    await writeFile(path, 'one', { mode: 0o640 });
    await symlink(path, join(folder, 'link.yaml'));
    await replaceFile(join(folder, 'link.yaml'), 'one', 'two');
    expect(await readFile(path, 'utf8')).toBe('two');
    expect(((await stat(path)).mode & 0o777).toString(8)).toBe('640');
  });

  test('does not replace a file of that name', async () => {
    await writeFile(join(folder, 'c.yaml'), 'theirs');
    expect(await createFile(folder, ['c.yaml', 'd.yaml'], 'ours', false)).toBe('d.yaml');
    await expect(createFile(folder, ['c.yaml', 'd.yaml'], 'ours', false)).rejects.toThrow(FileChanged);
    expect(await readFile(join(folder, 'c.yaml'), 'utf8')).toBe('theirs');
  });
});

describe('as in an API server', () => {
  test.each([
    ['', true],
    ['a=1', true],
    ['a==1,b!=1', true],
    ['a=2', false],
    ['a in (1,2)', true],
    ['a notin (1,2)', false],
    ['c notin (1)', true],
    ['c in (1)', false],
    ['a,!c', true],
    ['c', false],
    ['a b', undefined],
  ])('labels are selected: %j', (selector, expected) => {
    expect(parseLabelSelector(selector)?.({ a: '1', b: '2' })).toBe(expected);
  });

  test('every transition rule of our CRDs holds here too', () => {
    const crds = new URL('../../../crds/', import.meta.url).pathname;
    const files = { Provider: 'provider', ModelRoute: 'model-route', ApiKey: 'api-key' } as const;
    for (const [kind, file] of Object.entries(files)) {
      const text = readFileSync(join(crds, `${file}.yaml`), 'utf8');
      const messages = [...text.matchAll(/- rule: .*oldSelf.*\n\s+message: (.*)\n/g)].map(
        ([, message]) => message,
      );
      expect([kind, LASTING[kind as keyof typeof LASTING].map(({ what }) => what)]).toEqual([kind, messages]);
    }
  });
});

test('entries of lists are identified by the fields in the CRDs', () => {
  const keys = globSync('crds/*.yaml', { cwd: project }).flatMap((file) => {
    const crd = parse(readFileSync(join(project, file), 'utf8')) as Crd;
    const specs = crd.spec.versions.map(({ schema }) => schema.openAPIV3Schema.properties.spec);
    return [...JSON.stringify(specs).matchAll(/"x-kubernetes-list-map-keys":\["(\w+)"\]/g)];
  });
  expect([...new Set(keys.map(([, key]) => key))].toSorted()).toEqual([...listKeys].toSorted());
});
