// Of what type is an error whose body does not say it? Some vendors write it into a header. One row for each header, with where it was seen.

import type { UpstreamError } from '../dialects/dialect.ts';
import type { HeaderReader } from './attempt-io.ts';

interface TypeHeader {
  readonly vendor: string;
  readonly header: string;
  /** Finds the type in the header's value. */
  readonly type: RegExp;
  readonly source: string;
  readonly seen: string;
}

const typeHeaders: readonly TypeHeader[] = [
  {
    vendor: 'AWS',
    header: 'x-amzn-errortype',
    // A namespace may follow: `ThrottlingException:http://internal.amazon.com/…`.
    type: /^[A-Za-z]{1,64}(?=$|:)/,
    source: 'https://smithy.io/2.0/aws/protocols/aws-restjson1-protocol.html',
    seen: '2026-11',
  },
];

export function readErrorType(header: HeaderReader): string | undefined {
  for (const { header: name, type } of typeHeaders) {
    const found = type.exec(header(name) ?? '')?.[0];
    if (found !== undefined) return found;
  }
  return undefined;
}

export function withErrorType(error: UpstreamError, type: string | undefined): UpstreamError {
  return type === undefined || error.type !== null ? error : { ...error, type };
}
