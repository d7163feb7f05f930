// Which requests could two servers read in two ways? Two lengths for one body, or none that is clear (RFC 9112, sections 6.1, 6.3, 11.2).

const path = '/v1/chat/completions';

/** A whole request for this model by this key, with these headers behind the usual ones. */
export function smuggledRequests(authorization: string): Readonly<Record<string, string>> {
  const body = '{"model":"m","messages":[{"role":"user","content":"x"}]}';
  const head = `POST ${path} HTTP/1.1\r\nhost: a\r\nauthorization: ${authorization}\r\ncontent-type: application/json\r\n`;
  const framed = (headers: string, content = body): string => `${head}${headers}\r\n\r\n${content}`;
  const length = `content-length: ${body.length}`;
  const chunked = 'transfer-encoding: chunked';
  const inChunks = `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
  return {
    'length and chunks': framed(`${length}\r\n${chunked}`, inChunks),
    'chunks and length': framed(`${chunked}\r\n${length}`, inChunks),
    'length 0 and chunks': framed(`content-length: 0\r\n${chunked}`, inChunks),
    'two different lengths': framed(`${length}\r\ncontent-length: 3`),
    'the same length twice': framed(`${length}\r\n${length}`),
    'a list of lengths': framed(`content-length: ${body.length}, ${body.length}`),
    'a signed length': framed(`content-length: +${body.length}`),
    'a negative length': framed('content-length: -1'),
    'a hexadecimal length': framed('content-length: 0x20'),
    'a length with a fraction': framed('content-length: 1.0'),
    'a length with a blank inside': framed('content-length: 1 0'),
    'an empty length': framed('content-length:'),
    'a length of 30 digits': framed(`content-length: ${'9'.repeat(30)}`),
    'a blank in front of the colon of the length': framed(`content-length : ${body.length}`),
    'a blank in front of the colon of the coding': framed('transfer-encoding : chunked', inChunks),
    'chunked twice': framed(`${chunked}\r\n${chunked}`, inChunks),
    'chunked, chunked': framed('transfer-encoding: chunked, chunked', inChunks),
    'chunked in front of another coding': framed('transfer-encoding: chunked, gzip', inChunks),
    'another coding under the chunks': framed('transfer-encoding: gzip, chunked', inChunks),
    'another coding under the chunks, in a line of its own': framed(
      `transfer-encoding: gzip\r\n${chunked}`,
      inChunks,
    ),
    'a coding with a parameter under the chunks': framed('transfer-encoding: x;q=1, chunked', inChunks),
    'an empty coding in front of the chunks': framed('transfer-encoding: , chunked', inChunks),
    identity: framed('transfer-encoding: identity'),
    'an unknown coding': framed('transfer-encoding: xchunked', inChunks),
    'a coding behind a vertical tab': framed('transfer-encoding:\x0bchunked', inChunks),
    'a quoted coding': framed('transfer-encoding: "chunked"', inChunks),
    'a coding on a folded line': framed('transfer-encoding:\r\n chunked', inChunks),
    'a folded line': framed(`x-a: b\r\n c\r\n${length}`),
    'a first header that begins with a blank': `POST ${path} HTTP/1.1\r\n x: y\r\n${head.slice(head.indexOf('\n') + 1)}${length}\r\n\r\n${body}`,
    'line feeds without returns': framed(length).replaceAll('\r\n', '\n'),
    'returns without line feeds': framed(length).replaceAll('\r\n', '\r'),
    'a NUL in a header': framed(`x-a: b\0c\r\n${length}`),
    'a return in a header': framed(`x-a: b\rc\r\n${length}`),
    'a header without a name': framed(`: b\r\n${length}`),
    'a header without a colon': framed(`x-a\r\n${length}`),
    'a header name with a blank': framed(`x a: b\r\n${length}`),
    'a header name with a bracket': framed(`x[a]: b\r\n${length}`),
    'a negative chunk': framed(chunked, '-1\r\n'),
    'a chunk size that is no number': framed(chunked, 'zz\r\n'),
    'a chunk size with 0x': framed(chunked, `0x${inChunks}`),
    'a chunk size beyond all counting': framed(chunked, `${'f'.repeat(20)}\r\n`),
    'a chunk longer than its size': framed(chunked, `1\r\n${body}\r\n0\r\n\r\n`),
    'a chunk without its end': framed(chunked, inChunks.replace('}\r\n', '}xx')),
    'chunk sizes ended by line feeds': framed(chunked, inChunks.replaceAll('\r\n', '\n')),
    'a chunk extension of 20 kB': framed(chunked, `1;${'x'.repeat(20_000)}\r\n{\r\n0\r\n\r\n`),
  };
}
