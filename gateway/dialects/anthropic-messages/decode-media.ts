// What do images, documents and search results in a message hold, in our own form?

import type { JsonRecord } from '../../json/record.ts';
import type { Part } from '../conversation.ts';
import { commonImageTypes } from '../request/data-url.ts';
import { invalidParameter } from '../request/parameter-rules.ts';
import {
  type NoteAsk,
  readName,
  readOptionalRecord,
  readOptionalText,
  readRecord,
  readText,
} from '../request/read-values.ts';

/** Decodes the content of a block that holds blocks itself. */
export type DecodeInner = (content: unknown, path: string, note: NoteAsk) => readonly Part[];

export function decodeImage(block: JsonRecord, path: string, note: NoteAsk): readonly Part[] {
  const at = `${path}.source`;
  const source = readRecord(block.source, at);
  switch (source.type) {
    case 'base64': {
      const mediaType = readName(source.media_type, `${at}.media_type`);
      note('image', path);
      if (!commonImageTypes.has(mediaType)) note('image-of-rare-type', `${at}.media_type`);
      const data = readName(source.data, `${at}.data`);
      return [{ type: 'image', source: { kind: 'base64', mediaType, data } }];
    }
    case 'url':
      note('image', path);
      note('image-url', `${at}.url`);
      return [{ type: 'image', source: { kind: 'url', url: readName(source.url, `${at}.url`) } }];
    case 'file':
      note('file-id', path);
      return [];
    default:
      return invalidParameter(`${at}.type`, 'must be one of base64, url, file');
  }
}

export function decodeDocument(
  block: JsonRecord,
  path: string,
  note: NoteAsk,
  decodeInner: DecodeInner,
): readonly Part[] {
  const at = `${path}.source`;
  const source = readRecord(block.source, at);
  const title = readOptionalText(block.title, `${path}.title`);
  const context = readOptionalText(block.context, `${path}.context`);
  noteCitations(block, path, note);
  const lines = [title, context].filter((line) => line !== undefined && line !== '');
  const named = title === undefined || title === '' ? {} : { filename: title };
  // A file has a place for its name, not for what else is said of it.
  const introduction: readonly Part[] = context ? [{ type: 'text', text: context }] : [];
  switch (source.type) {
    case 'base64': {
      const mediaType = readName(source.media_type, `${at}.media_type`);
      note(mediaType === 'application/pdf' ? 'pdf' : 'file-of-other-type', path);
      const data = readName(source.data, `${at}.data`);
      return [...introduction, { type: 'file', source: { kind: 'base64', mediaType, data }, ...named }];
    }
    case 'url': {
      note('file-url', path);
      const url = readName(source.url, `${at}.url`);
      return [...introduction, { type: 'file', source: { kind: 'url', url }, ...named }];
    }
    case 'text':
      note('text-document', path);
      return [{ type: 'text', text: [...lines, readText(source.data, `${at}.data`)].join('\n') }];
    case 'content': {
      note('text-document', path);
      const heading: readonly Part[] = lines.length === 0 ? [] : [{ type: 'text', text: lines.join('\n') }];
      return [...heading, ...decodeInner(source.content, `${at}.content`, note)];
    }
    case 'file':
      note('file-id', path);
      return [];
    default:
      return invalidParameter(`${at}.type`, 'must be one of base64, text, content, url, file');
  }
}

export function decodeSearchResult(
  block: JsonRecord,
  path: string,
  note: NoteAsk,
  decodeInner: DecodeInner,
): readonly Part[] {
  note('search-result', path);
  noteCitations(block, path, note);
  const parts = decodeInner(block.content, `${path}.content`, note);
  const texts = parts.map((part) => (part.type === 'text' ? part.text : ''));
  const heading = [readText(block.title, `${path}.title`), readText(block.source, `${path}.source`)];
  return [{ type: 'text', text: [...heading, ...texts].filter((line) => line !== '').join('\n') }];
}

function noteCitations(block: JsonRecord, path: string, note: NoteAsk): void {
  const at = `${path}.citations`;
  if (readOptionalRecord(block.citations, at)?.enabled === true) note('citations', at);
}
