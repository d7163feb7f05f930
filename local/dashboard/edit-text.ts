// What is the text of a manifest file after one of its objects was changed or deleted? Everything else stays as written: byte for byte in
// the other documents, line for line beside the change. Pure.

import { isDeepStrictEqual } from 'node:util';
import { Document, Parser, parseDocument, type SchemaOptions, type ToStringOptions, visit } from 'yaml';
import type { Spot } from '../manifests.ts';
import { READING, readYaml } from '../read-yaml.ts';
import { changeValue } from './change-nodes.ts';
import { keepLines } from './keep-lines.ts';
import { placeComments } from './place-comments.ts';

/** It can only be changed by hand; the message says why, for people. */
export class EditRefused extends Error {}

const writtenOtherwise =
  'The file uses anchors, merge keys, nesting or non-text names that the change would touch. Edit it by hand.';

/** As kubectl reads them: `yes` is no text there. */
const compat: SchemaOptions = { compat: 'yaml-1.1' };
const reading = { ...READING, ...compat };
const writing: ToStringOptions = { lineWidth: 0 };

/** The text of a new file. */
export function writeText(object: object): string {
  return new Document(object, { ...reading, aliasDuplicateObjects: false }).toString(writing);
}

/**
 * @param change Gives the object as it shall stand there, out of how it does; undefined: not at all.
 * @returns The new text; undefined where nothing would be left in the file.
 * @throws {EditRefused}
 */
export function editText(
  { content, document, path }: Spot,
  change: ((written: unknown) => object) | undefined,
): string | undefined {
  const before = readValues(content);
  const wanted = change?.(valueAt(before[document], path));
  const after = before.map((value, index) => (index === document ? putAt(value, path, wanted) : value));
  const left = wanted === undefined && path.length === 0 ? after.toSpliced(document, 1) : after;
  if (left.every((value) => value === null)) return undefined;
  const edits = [
    () => editJson(content, left),
    () => editYaml(content, document, path, before[document], wanted, keepLines),
    // Where the lines that were kept would make it another one.
    () =>
      editYaml(content, document, path, before[document], wanted, (_written, _rewritten, edited) => edited),
  ];
  for (const edit of edits) {
    const edited = edit();
    if (edited !== undefined && isDeepStrictEqual(tryValues(edited), left)) return edited;
  }
  throw new EditRefused(writtenOtherwise);
}

/** Undefined if the text could not be read again. */
function tryValues(content: string): readonly unknown[] | undefined {
  try {
    return readValues(content);
  } catch (error) {
    if (error instanceof EditRefused) return undefined;
    throw error;
  }
}

function readValues(content: string): readonly unknown[] {
  const unreadable = () => new EditRefused('The file cannot be read. Fix it first.');
  const read = readYaml(content, compat);
  if ('excess' in read || read.documents.some(({ errors }) => errors.length > 0)) throw unreadable();
  try {
    return read.documents.map((document) => document.toJS() as unknown);
  } catch {
    throw unreadable();
  }
}

function valueAt(value: unknown, path: readonly (string | number)[]): unknown {
  return path.reduce<unknown>(
    (at, step) =>
      typeof at === 'object' && at !== null ? (at as Record<string | number, unknown>)[step] : undefined,
    value,
  );
}

/** The value with another one at the path; without one, it goes. */
function putAt(value: unknown, path: readonly (string | number)[], wanted: object | undefined): unknown {
  const [step, ...rest] = path;
  if (step === undefined) return wanted ?? null;
  if (Array.isArray(value) && typeof step === 'number')
    return wanted === undefined && rest.length === 0
      ? value.toSpliced(step, 1)
      : value.with(step, putAt(value[step], rest, wanted));
  if (typeof value !== 'object' || value === null || !(step in value))
    throw new EditRefused('the file is not as it was read');
  return { ...value, [step]: putAt((value as Record<string | number, unknown>)[step], rest, wanted) };
}

/** Undefined: it is not written as JSON. */
function editJson(content: string, values: readonly unknown[]): string | undefined {
  try {
    JSON.parse(content);
  } catch {
    return undefined;
  }
  const [, indent = ''] = /\n([ \t]+)\S/.exec(content) ?? [];
  return `${JSON.stringify(values[0], undefined, indent)}${/\s*$/.exec(content)?.[0] ?? ''}`;
}

function editYaml(
  content: string,
  index: number,
  path: Spot['path'],
  before: unknown,
  wanted: object | undefined,
  keep: typeof keepLines,
): string {
  const tokens = [...new Parser().parse(content)];
  const token = tokens.filter(({ type }) => type === 'document')[index];
  if (token === undefined) throw new EditRefused('the file is not as it was read');
  const end = tokens[tokens.indexOf(token) + 1]?.offset ?? content.length;
  const part = content.slice(token.offset, end);
  const isGone = wanted === undefined && path.length === 0;
  const edited = isGone ? '' : editDocument(part, path, valueAt(before, path), wanted, keep);
  return content.slice(0, token.offset) + edited + content.slice(end);
}

/** @param part One document, from its `---` on where it has one. */
function editDocument(
  part: string,
  path: Spot['path'],
  before: unknown,
  wanted: object | undefined,
  keep: typeof keepLines,
): string {
  const isWindows = part.includes('\r\n');
  const text = isWindows ? part.replaceAll('\r\n', '\n') : part;
  const end = /\s*$/.exec(text)?.[0] ?? '';
  const written = text.slice(0, text.length - end.length);
  const document = parseDocument(text, reading);
  placeComments(document, text);
  const style = styleOf(document, written);
  const rewritten = document.toString(style).trimEnd();
  if (wanted === undefined) document.deleteIn(path);
  else changeValue(document, path, before, wanted);
  expectAnchors(document);
  const edited = keep(written, rewritten, document.toString(style).trimEnd()) + end;
  return isWindows ? edited.replaceAll('\n', '\r\n') : edited;
}

/** One that has gone while something still refers to it cannot be written. */
function expectAnchors(document: Document): void {
  const anchors = new Set<string | undefined>();
  visit(document, {
    Value: (_, { anchor }) => void anchors.add(anchor),
    Alias: (_, { source }) => {
      if (!anchors.has(source)) throw new EditRefused(writtenOtherwise);
    },
  });
}

/** The options with which a rewritten document is nearest to the original. */
function styleOf(document: Document, written: string): ToStringOptions {
  const lines = new Set(written.split('\n'));
  let best: { readonly style: ToStringOptions; readonly strange: number } | undefined;
  for (const indentSeq of [true, false])
    for (const indent of [2, 4])
      for (const flowCollectionPadding of [true, false]) {
        const style = { ...writing, indentSeq, indent, flowCollectionPadding };
        const strange = document
          .toString(style)
          .split('\n')
          .filter((line) => !lines.has(line)).length;
        if (best === undefined || strange < best.strange) best = { style, strange };
      }
  return best?.style ?? writing;
}
