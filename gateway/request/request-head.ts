// What of a request's headers does the gateway decide by? Found in one pass over them as they were received; Node's own object of all
// headers costs more, and hides repeated ones.

/** Names and values in turn, as received. */
export function readHead(rawHeaders: readonly string[]): RequestHead {
  const head = new RequestHead();
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] ?? '';
    if (mayMatter[name.length] === 1) head.add(name.toLowerCase(), rawHeaders[at + 1] ?? '');
  }
  return head;
}

export class RequestHead {
  authorization: string | undefined;
  apiKey: string | undefined;
  host: string | undefined;
  contentType: string | undefined;
  contentLength: string | undefined;
  contentEncoding: string | undefined;
  transferEncoding: string | undefined;
  expect: string | undefined;
  /** The first repeated header of those that decide the caller or the form of the body. */
  repeated: string | undefined;

  add(name: string, value: string): void {
    switch (name) {
      case 'authorization':
        this.authorization = this.single(name, this.authorization, value);
        return;
      case 'x-api-key':
        this.apiKey = this.single(name, this.apiKey, value);
        return;
      case 'host':
        this.host = this.single(name, this.host, value);
        return;
      case 'content-type':
        this.contentType = this.single(name, this.contentType, value);
        return;
      case 'content-length':
        this.contentLength = this.single(name, this.contentLength, value);
        return;
      case 'content-encoding':
        this.contentEncoding = join(this.contentEncoding, value);
        return;
      case 'transfer-encoding':
        this.transferEncoding = join(this.transferEncoding, value);
        return;
      case 'expect':
        this.expect = join(this.expect, value);
    }
  }

  private single(name: string, before: string | undefined, value: string): string {
    if (before !== undefined) this.repeated ??= name;
    return before ?? value;
  }
}

/** A list may be sent in several headers (RFC 9110, section 5.3). */
function join(before: string | undefined, value: string): string {
  return before === undefined ? value : `${before}, ${value}`;
}

/** By the length of a name: most headers are passed over by it. */
const mayMatter = new Uint8Array(20);
for (const name of [
  ...['authorization', 'x-api-key', 'host', 'content-type', 'content-length'],
  ...['content-encoding', 'transfer-encoding', 'expect'],
]) {
  mayMatter[name.length] = 1;
}
