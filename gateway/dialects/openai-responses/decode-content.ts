// What do the content parts of a message or of a tool's output mean?

import { asRecord, type JsonRecord } from '../../json/record.ts';
import type { MediaSource, Part } from '../conversation.ts';
import { commonImageTypes, parseDataUrl } from '../request/data-url.ts';
import { invalidParameter } from '../request/parameter-rules.ts';
import { type NoteAsk, readRecord, readText } from '../request/read-values.ts';

/**
 * @param name Path of the content, as the caller wrote it.
 * @throws {GatewayError} `invalid_parameter`, naming the part.
 */
export function decodeContent(content: unknown, name: string, ask: NoteAsk): readonly Part[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  if (!Array.isArray(content)) return invalidParameter(name, 'must be a string or a list of parts');
  return content.flatMap((part, index) => decodePart(part, `${name}[${index}]`, ask));
}

function decodePart(value: unknown, name: string, ask: NoteAsk): readonly Part[] {
  const part = readRecord(value, name);
  switch (part.type) {
    case 'input_text':
    case 'output_text': {
      const { annotations } = part;
      if (Array.isArray(annotations) && annotations.length > 0) ask('citations', `${name}.annotations`);
      return [{ type: 'text', text: readText(part.text, `${name}.text`) }];
    }
    case 'refusal':
      return [{ type: 'refusal', text: readText(part.refusal, `${name}.refusal`) }];
    case 'input_image':
      return decodeImage(part, name, ask);
    case 'input_file':
      return decodeFile(part, name, ask);
    case 'input_audio': {
      const audio = asRecord(part.input_audio);
      ask('audio-in', name);
      const data = readText(audio?.data, `${name}.input_audio.data`);
      return [{ type: 'audio', data, format: readText(audio?.format, `${name}.input_audio.format`) }];
    }
    default:
      return invalidParameter(`${name}.type`, `must be one of ${partTypes.join(', ')}`);
  }
}

const partTypes = ['input_text', 'input_image', 'input_file', 'input_audio', 'output_text', 'refusal'];

function decodeImage(part: JsonRecord, name: string, ask: NoteAsk): readonly Part[] {
  const { image_url: url, file_id: id, detail } = part;
  if (typeof id === 'string') {
    ask('file-id', `${name}.file_id`);
    return [];
  }
  const source = readAddress(readText(url, `${name}.image_url`), `${name}.image_url`);
  ask('image', name);
  if (source.kind === 'url') ask('image-url', `${name}.image_url`);
  if (source.kind === 'base64' && !commonImageTypes.has(source.mediaType)) ask('image-of-rare-type', name);
  if (typeof detail !== 'string' || detail === 'auto') return [{ type: 'image', source }];
  ask('image-detail', `${name}.detail`);
  return [{ type: 'image', source, detail }];
}

function decodeFile(part: JsonRecord, name: string, ask: NoteAsk): readonly Part[] {
  const { file_id: id, file_url: url, file_data: data, filename } = part;
  const named = typeof filename === 'string' ? { filename } : {};
  if (typeof id === 'string') {
    ask('file-id', `${name}.file_id`);
    return [];
  }
  if (typeof url === 'string') {
    ask('file-url', `${name}.file_url`);
    return [{ type: 'file', source: readAddress(url, `${name}.file_url`), ...named }];
  }
  const source = readFileData(readText(data, `${name}.file_data`), named.filename);
  if (source.mediaType === 'application/pdf') ask('pdf', name);
  else if (source.mediaType.startsWith('text/')) ask('text-document', name);
  else ask('file-of-other-type', name);
  return [{ type: 'file', source, ...named }];
}

/** Base64 alone is taken too; then the file's name tells the type. */
function readFileData(data: string, filename = ''): Extract<MediaSource, { kind: 'base64' }> {
  const source = parseDataUrl(data);
  if (source) return source;
  const mediaType = /\.(txt|md|csv)$/i.test(filename) ? 'text/plain' : 'application/pdf';
  return { kind: 'base64', mediaType, data };
}

function readAddress(url: string, name: string): MediaSource {
  const source = parseDataUrl(url);
  if (source) return source;
  if (/^https?:\/\//i.test(url)) return { kind: 'url', url };
  return invalidParameter(name, 'must be an http or https address, or a base64 data address');
}
