// What does a message's `content` hold? A text, or a list of parts.

import type { Part } from '../conversation.ts';
import { commonImageTypes, parseDataUrl } from '../request/data-url.ts';
import { invalidParameter } from '../request/parameter-rules.ts';
import {
  type NoteAsk,
  readCacheHint,
  readName,
  readOptionalText,
  readRecord,
  readText,
} from '../request/read-values.ts';

/** Whose content it is; text may stand in everyone's. */
type Author = 'system' | 'user' | 'assistant' | 'tool';

const partTypes: Readonly<Record<Author, readonly string[]>> = {
  system: ['text'],
  user: ['text', 'image_url', 'input_audio', 'file'],
  assistant: ['text', 'refusal'],
  // The API allows only text, but clients send images, and other dialects take them.
  tool: ['text', 'image_url', 'file'],
};

/** @throws {GatewayError} `invalid_parameter`, naming the part. */
export function decodeContent(content: unknown, path: string, author: Author, note: NoteAsk): Part[] {
  if (content === undefined || content === null) return [];
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  if (!Array.isArray(content)) return invalidParameter(path, 'must be a string or a list of parts');
  return content.map((entry, index) => decodePart(entry, `${path}[${index}]`, author, note));
}

function decodePart(entry: unknown, path: string, author: Author, note: NoteAsk): Part {
  const part = readRecord(entry, path);
  const type = readName(part.type, `${path}.type`);
  if (!partTypes[author].includes(type)) {
    invalidParameter(
      `${path}.type`,
      `must be one of ${partTypes[author].join(', ')} here, not ${JSON.stringify(type.slice(0, 64))}`,
    );
  }
  const hint = readHint(part, path, note);
  if (author === 'tool' && type !== 'text') note('tool-result-media', path);
  switch (type) {
    case 'image_url':
      return { ...decodeImage(part.image_url, path, note), ...hint };
    case 'input_audio':
      return { ...decodeAudio(part.input_audio, path, note), ...hint };
    case 'file':
      return { ...decodeFile(part.file, path, note), ...hint };
    case 'refusal':
      return { type: 'refusal', text: readText(part.refusal, `${path}.refusal`), ...hint };
    default:
      return { type: 'text', text: readText(part.text, `${path}.text`), ...hint };
  }
}

/** Anthropic's mark, which clients send on this dialect too, or OpenAI's. */
function readHint(
  part: Readonly<Record<string, unknown>>,
  path: string,
  note: NoteAsk,
): { readonly cacheHint?: unknown } {
  if (part.prompt_cache_breakpoint === undefined || part.prompt_cache_breakpoint === null) {
    return readCacheHint(part, path, note);
  }
  note('cache-hint', `${path}.prompt_cache_breakpoint`);
  return { cacheHint: { type: 'ephemeral' } };
}

function decodeImage(value: unknown, path: string, note: NoteAsk): Part {
  note('image', path);
  const image = readRecord(value, `${path}.image_url`);
  const url = readName(image.url, `${path}.image_url.url`);
  const detail = readOptionalText(image.detail, `${path}.image_url.detail`);
  if (detail !== undefined && detail !== 'auto') note('image-detail', `${path}.image_url.detail`);
  const more = detail === undefined ? {} : { detail };
  if (/^https?:\/\//i.test(url)) {
    note('image-url', `${path}.image_url.url`);
    return { type: 'image', source: { kind: 'url', url }, ...more };
  }
  const source = parseDataUrl(url);
  if (!source)
    return invalidParameter(`${path}.image_url.url`, 'must be an https address or a base64 data URL');
  if (!commonImageTypes.has(source.mediaType)) note('image-of-rare-type', path);
  return { type: 'image', source, ...more };
}

function decodeAudio(value: unknown, path: string, note: NoteAsk): Part {
  note('audio-in', path);
  const audio = readRecord(value, `${path}.input_audio`);
  const data = readName(audio.data, `${path}.input_audio.data`);
  return { type: 'audio', data, format: readName(audio.format, `${path}.input_audio.format`) };
}

function decodeFile(value: unknown, path: string, note: NoteAsk): Part {
  const file = readRecord(value, `${path}.file`);
  const filename = readOptionalText(file.filename, `${path}.file.filename`);
  const named = filename === undefined ? {} : { filename };
  if (file.file_id !== undefined && file.file_id !== null) {
    readName(file.file_id, `${path}.file.file_id`);
    // No upstream of another dialect has it: this part is never encoded.
    note('file-id', `${path}.file.file_id`);
    return { type: 'text', text: '' };
  }
  const source = parseDataUrl(readName(file.file_data, `${path}.file.file_data`));
  if (!source) return invalidParameter(`${path}.file.file_data`, 'must be a base64 data URL');
  note(fileFeature(source.mediaType), path);
  return { type: 'file', source, ...named };
}

function fileFeature(mediaType: string): 'pdf' | 'text-document' | 'file-of-other-type' {
  if (mediaType === 'application/pdf') return 'pdf';
  return mediaType.startsWith('text/') ? 'text-document' : 'file-of-other-type';
}
