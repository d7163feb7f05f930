// Images and documents as Converse takes them: by format, and each document with a unique name.

import type { PartOf } from '../conversation.ts';

type Block = Readonly<Record<string, unknown>>;

const imageFormats: Readonly<Record<string, string>> = {
  'image/png': 'png',
  'image/jpeg': 'jpeg',
  'image/gif': 'gif',
  'image/webp': 'webp',
};

const documentFormats: Readonly<Record<string, string>> = {
  'application/pdf': 'pdf',
  'text/csv': 'csv',
  'application/msword': 'doc',
  'application/vnd.openxmlformats-officedocument.wordprocessingml.document': 'docx',
  'application/vnd.ms-excel': 'xls',
  'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet': 'xlsx',
  'text/html': 'html',
  'text/markdown': 'md',
  'text/plain': 'txt',
};

/** Undefined: Converse has no format for it. */
export function documentFormatOf(mediaType: string): string | undefined {
  const plain = mediaType.split(';', 1)[0]?.trim().toLowerCase() ?? '';
  return documentFormats[plain] ?? (plain.startsWith('text/') ? 'txt' : undefined);
}

export function encodeImage({ source }: PartOf<'image'>): readonly Block[] {
  const format = source.kind === 'base64' ? imageFormats[source.mediaType] : undefined;
  if (source.kind !== 'base64' || format === undefined) return [];
  return [{ image: { format, source: { bytes: source.data } } }];
}

/** Names each document of one request. */
export class Documents {
  private readonly names = new Set<string>();

  encode({ source, filename = '' }: PartOf<'file'>): readonly Block[] {
    const format = source.kind === 'base64' ? documentFormatOf(source.mediaType) : undefined;
    if (source.kind !== 'base64' || format === undefined) return [];
    return [{ document: { format, name: this.nameFor(filename), source: { bytes: source.data } } }];
  }

  private nameFor(filename: string): string {
    const safe = filename
      .replace(/[^A-Za-z0-9()[\] -]/g, ' ')
      .replace(/ +/g, ' ')
      .trim()
      .slice(0, nameLengthMax);
    const number = this.names.size + 1;
    const name = safe === '' ? `document-${number}` : this.names.has(safe) ? `${safe}-${number}` : safe;
    this.names.add(name);
    return name;
  }
}

/** Room for a number behind it. */
const nameLengthMax = 180;
