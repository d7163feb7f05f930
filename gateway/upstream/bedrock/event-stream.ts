// How does AWS frame a stream? Length, headers, payload, and a checksum of both; exceptions are frames, too. Read into server-sent events.
// https://docs.aws.amazon.com/AmazonS3/latest/API/RESTSelectObjectAppendix.html

import { crc32 } from 'node:zlib';
import { parseJson } from '../../../core/parse-json.ts';
import { formOf } from '../../dialects/answer/describe-body.ts';
import type { FrameReader, Framing } from '../../dialects/events/framing.ts';
import { asRecord } from '../../json/record.ts';

export const eventStream: Framing = {
  mediaType: 'application/vnd.amazon.eventstream',
  // No frame is as long as a first byte above 1 would say.
  formOf(bytes) {
    const [first] = bytes;
    if (first === undefined) return undefined;
    if (first <= 1) return 'events';
    const form = formOf(bytes);
    return form === 'events' ? 'other' : form;
  },
  open: () => new EventStreamReader(),
};

/** Total length, length of the headers, and a checksum of the two. */
const preludeBytes = 12;
const checksumBytes = 4;
/** As the SDKs of AWS bound them. */
const headerBytesMax = 128 * 1024;
const payloadBytesMax = 24 * 1024 * 1024;

class EventStreamReader implements FrameReader {
  flaw: string | undefined;
  pendingBytes = 0;
  private pieces: Buffer[] = [];
  /** No decision is possible with fewer. */
  private neededBytes = preludeBytes;

  push(bytes: Buffer): Buffer {
    if (this.flaw !== undefined || bytes.length === 0) return Buffer.alloc(0);
    this.pieces.push(bytes);
    this.pendingBytes += bytes.length;
    if (this.pendingBytes < this.neededBytes) return Buffer.alloc(0);
    let rest = this.pieces.length === 1 ? bytes : Buffer.concat(this.pieces);
    let events = '';
    for (;;) {
      this.neededBytes = this.lengthOf(rest);
      if (this.flaw !== undefined || rest.length < this.neededBytes) break;
      if (rest.length < preludeBytes) break;
      events += this.read(rest.subarray(0, this.neededBytes));
      rest = rest.subarray(this.neededBytes);
      if (this.flaw !== undefined) break;
    }
    this.pieces = rest.length === 0 ? [] : [rest];
    this.pendingBytes = rest.length;
    return Buffer.from(events);
  }

  /** Of the frame that begins here, as far as it is known. */
  private lengthOf(bytes: Buffer): number {
    if (bytes.length < preludeBytes) return preludeBytes;
    const total = bytes.readUInt32BE(0);
    const headers = bytes.readUInt32BE(4);
    const payload = total - headers - preludeBytes - checksumBytes;
    if (crc32(bytes.subarray(0, 8)) !== bytes.readUInt32BE(8)) {
      this.flaw = 'the checksum of a length is wrong';
    } else if (headers > headerBytesMax || payload < 0 || payload > payloadBytesMax) {
      this.flaw = `a frame of ${total} bytes, ${headers} of them headers, is not possible`;
    }
    return total;
  }

  private read(frame: Buffer): string {
    const end = frame.length - checksumBytes;
    if (crc32(frame.subarray(0, end)) !== frame.readUInt32BE(end)) {
      this.flaw = 'the checksum of a frame is wrong';
      return '';
    }
    const payloadAt = preludeBytes + frame.readUInt32BE(4);
    const headers = readHeaders(frame.subarray(preludeBytes, payloadAt));
    if (headers === undefined) {
      this.flaw = 'the headers of a frame cannot be read';
      return '';
    }
    return eventOf(headers, frame.toString('utf8', payloadAt, end));
  }
}

/** Bytes of the values of each type, but for strings and bytes, whose length comes first: true, false, integers, a time and a UUID. */
const fixedBytes: Readonly<Record<number, number>> = { 0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16 };
const bytesType = 6;
const stringType = 7;

/** The strings among them; undefined if they are none. */
function readHeaders(bytes: Buffer): ReadonlyMap<string, string> | undefined {
  const headers = new Map<string, string>();
  for (let at = 0; at < bytes.length; ) {
    const nameEnd = at + 1 + bytes.readUInt8(at);
    if (nameEnd >= bytes.length) return undefined;
    const name = bytes.toString('utf8', at + 1, nameEnd);
    const type = bytes.readUInt8(nameEnd);
    const hasLength = type === bytesType || type === stringType;
    const start = nameEnd + 1 + (hasLength ? 2 : 0);
    if (start > bytes.length) return undefined;
    const length = hasLength ? bytes.readUInt16BE(start - 2) : fixedBytes[type];
    if (length === undefined || start + length > bytes.length) return undefined;
    if (type === stringType) headers.set(name, bytes.toString('utf8', start, start + length));
    at = start + length;
  }
  return headers;
}

function eventOf(headers: ReadonlyMap<string, string>, payload: string): string {
  switch (headers.get(':message-type')) {
    case 'event':
      return sse(headers.get(':event-type') ?? '', payload.replace(padding, '}'));
    case 'exception': {
      const { message } = asRecord(parseJson(payload)) ?? {};
      return error(headers.get(':exception-type') ?? '', typeof message === 'string' ? message : '');
    }
    case 'error':
      return error(headers.get(':error-code') ?? '', headers.get(':error-message') ?? '');
    default:
      return '';
  }
}

/** It hides the length of what is said. */
const padding = /,"p":"\w*"\}$/;

function error(code: string, message: string): string {
  // In streams they begin in lower case.
  const type = code.slice(0, 1).toUpperCase() + code.slice(1);
  return sse('error', JSON.stringify({ error: { type, message, status: statuses[type] ?? 500 } }));
}

/** What each would have as an answer. */
const statuses: Readonly<Record<string, number>> = {
  ValidationException: 400,
  ServiceQuotaExceededException: 400,
  AccessDeniedException: 403,
  ResourceNotFoundException: 404,
  ModelTimeoutException: 408,
  ModelErrorException: 424,
  ModelStreamErrorException: 424,
  ThrottlingException: 429,
  ModelNotReadyException: 429,
  InternalServerException: 500,
  ServiceUnavailableException: 503,
};

/** Line ends of JSON stand between its values only, where a blank does as well. */
function sse(event: string, data: string): string {
  return `event: ${event.replace(/[\r\n]/g, ' ')}\ndata: ${data.replace(/[\r\n]+/g, ' ')}\n\n`;
}
