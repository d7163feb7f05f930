// Bodies that are no requests: malformed JSON, JSON bombs, wrong types and encodings, too many bytes. Each is reported
// clearly in the shape of the specification, nothing crashes, nothing is polluted, and other connections are served.

import { gzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '../../../core/clock.ts';
import { parseBody } from '../../../gateway/endpoints/parse-body.ts';
import { lingerMs } from '../../../gateway/endpoints/send-error.ts';
import { openRaw, type RawConnection, writeRequest } from '../../support/raw-client.ts';
import { startWall, type Wall } from '../../support/wall.ts';
import { type Rig, startRig, tableOf } from '../rig.ts';
import { type Answered, bearer, errorOf, latest, portOf, post } from './ask.ts';

const path = '/v1/chat/completions';
const valid =
  '{"model":"m","messages":[{"role":"user","content":"h\\u00fc \\"x\\""}],"n":1,"stop":["a"],"x":{"a":[1,true,null]}}';
const MiB = 1024 * 1024;

let wall: Wall;
let rig: Rig;
/** A client on a connection of its own, which must be served whatever the others send. */
let witness: RawConnection;

beforeAll(async () => {
  wall = await startWall();
  rig = await startRig(tableOf([{ baseUrl: wall.baseUrl }]), {
    // A client that sends no more is released at once, so that no test waits for it.
    clock: { ...systemClock, setTimer: (ms, fire) => systemClock.setTimer(ms === lingerMs ? 0 : ms, fire) },
  });
  witness = await openRaw({ port: portOf(rig) });
});

afterEach(async () => {
  await witness.send(writeRequest({ path, headers: bearer, body: valid }));
  expect((await witness.answer()).status).toBe(200);
  expect(rig.failures).toEqual([]);
});

afterAll(async () => {
  witness.close();
  await rig.close();
  await wall.close();
});

function expectInvalid(answer: Answered): string {
  const { message, ...error } = errorOf(answer);
  expect({ status: answer.status, ...error }).toMatchObject({
    status: 400,
    type: 'invalid_request_error',
    code: 'invalid_parameter',
  });
  return message;
}

/** The valid body with one more member. */
const having = (member: string): string => `${valid.slice(0, -1)},${member}}`;

describe('malformed JSON is 400, and no upstream is asked', () => {
  test(`a valid body cut at each of its ${valid.length} bytes`, async () => {
    const before = wall.calls.length;
    for (let bytes = 0; bytes < valid.length; bytes++) {
      const message = expectInvalid(await post(rig, path, valid.slice(0, bytes)));
      expect(message).toMatch(bytes === 0 ? /is empty/ : /JSON/);
    }
    expect(wall.calls).toHaveLength(before);
  });

  const corpus: Readonly<Record<string, string | Uint8Array>> = {
    'only blanks': ' \t\r\n ',
    'a list': '[]',
    'a list of requests': `[${valid}]`,
    'a string': '"x"',
    'a number': '5',
    'a negative number': '-1',
    true: 'true',
    null: 'null',
    'a bare word': 'hello',
    'an empty object': '{}',
    'form data': 'model=m&prompt=x',
    XML: '<model>m</model>',
    YAML: 'model: m\nprompt: x\n',
    'a comma after the last member': having('"y":1,'),
    'a comma after the last item': having('"y":[1,]'),
    'a comma after the last inner member': having('"y":{"a":1,}'),
    'a comma in front': `{,${valid.slice(1)}`,
    'two commas': having(',"y":1'),
    'only a comma': '{,}',
    'no comma between members': having('"y":1 "z":2'),
    'no comma between items': having('"y":[1 2]'),
    'no colon': having('"y" 1'),
    'two colons': having('"y"::1'),
    'an equals sign': having('"y"=1'),
    'a name without a value': having('"y":'),
    'a name alone': having('"y"'),
    'a value without a name': having(':1'),
    'a line comment': having('"y":1 // why\n'),
    'a block comment': having('/* why */"y":1'),
    'a hash comment': having('# why\n"y":1'),
    'single quotes': "{'model':'m','messages':[]}",
    'single quotes around a value': having('"y":\'x\''),
    'a name without quotes': having('y:1'),
    backticks: having('"y":`x`'),
    'smart quotes': having('“y”:1'),
    NaN: having('"y":NaN'),
    Infinity: having('"y":Infinity'),
    '-Infinity': having('"y":-Infinity'),
    undefined: having('"y":undefined'),
    True: having('"y":True'),
    None: having('"y":None'),
    'a truncated literal': having('"y":tru'),
    'a leading zero': having('"y":01'),
    'a plus sign': having('"y":+1'),
    'a lone minus': having('"y":-'),
    'a dot in front': having('"y":.5'),
    'a dot behind': having('"y":5.'),
    'an empty exponent': having('"y":1e'),
    hexadecimal: having('"y":0x10'),
    'an underscore in a number': having('"y":1_000'),
    'a big integer': having('"y":1n'),
    'a date': having('"y":2026-11-21'),
    'a function call': having('"y":Date(0)'),
    'an unknown escape': having('"y":"\\q"'),
    'an escape with too few digits': having('"y":"\\u12"'),
    'an escape that is no number': having('"y":"\\uZZZZ"'),
    'a hexadecimal escape': having('"y":"\\x41"'),
    'a backslash at the very end': having('"y":"\\'),
    'a broken escape in a name': having('"\\y":1'),
    'a newline inside a string': having('"y":"a\nb"'),
    'a tab inside a string': having('"y":"a\tb"'),
    'a NUL inside a string': having('"y":"a\0b"'),
    'a NUL between members': having('\0"y":1'),
    'a NUL after the end': `${valid}\0`,
    'a control character between members': having('\x01"y":1'),
    'a vertical tab between members': having('\x0b"y":1'),
    'a no-break space between members': having('\u00a0"y":1'),
    'a line separator between members': having('\u2028"y":1'),
    'a bracket for a brace': `${valid.slice(0, -1)}]`,
    'crossed brackets': having('"y":[{]}'),
    'a closing brace too many': `${valid}}`,
    'a closing bracket too many': having('"y":[1]]'),
    'two objects': `${valid}${valid}`,
    'two lines of objects': `${valid}\n${valid}`,
    'text after the end': `${valid} x`,
    'text in front': `x ${valid}`,
    'a JSONP call': `f(${valid})`,
    'an XSSI guard': `)]}'\n${valid}`,
    'an SSE frame': `data: ${valid}\n\n`,
    'a byte order mark twice': `\ufeff\ufeff${valid}`,
    'a byte order mark alone': '\ufeff',
    'half a byte order mark': Buffer.concat([Buffer.of(0xef, 0xbb), Buffer.from(valid)]),
    'a byte order mark behind a blank': ` \ufeff${valid}`,
    'UTF-16 LE': Buffer.from(valid, 'utf16le'),
    'UTF-16 LE with its mark': Buffer.from(`\ufeff${valid}`, 'utf16le'),
    'UTF-16 BE': Buffer.from(valid, 'utf16le').swap16(),
    'UTF-32 LE': Buffer.from([...valid].flatMap((letter) => [letter.charCodeAt(0), 0, 0, 0])),
    'a byte that is no UTF-8': Buffer.from(having('"y":"\xff"'), 'latin1'),
    'a character cut in two': Buffer.from(having('"y":"\xf0\x9f\x98"'), 'latin1'),
    'a surrogate as UTF-8': Buffer.from(having('"y":"\xed\xa0\x80"'), 'latin1'),
    'compressed without saying so': gzipSync(valid),
    'bytes of a picture': Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
    'the model twice': having('"model":"other"'),
    'the model twice, once escaped': having('"mod\\u0065l":"other"'),
    'the messages twice': having('"messages":[]'),
    'any member twice': having('"y":1,"y":1'),
    'the empty name twice': having('"":1,"":2'),
    '__proto__ twice': having('"__proto__":1,"__proto__":2'),
  };

  test.each(Object.entries(corpus))('%s', async (_name, body) => {
    const before = wall.calls.length;
    expectInvalid(await post(rig, path, body));
    expectInvalid(await post(rig, '/v1/completions', body));
    expect(wall.calls).toHaveLength(before);
  });

  test('the message says what is wrong and where', async () => {
    expect(expectInvalid(await post(rig, path, '[1]'))).toBe('The body is not a JSON object.');
    expect(expectInvalid(await post(rig, path, '{"model":"m"'))).toBe(
      'The body is not valid JSON: expected "," or "}" after a member, but the body ends.',
    );
    expect(expectInvalid(await post(rig, path, having('"model":1')))).toMatch(
      /^The member "model" appears twice/,
    );
    const latin1 = Buffer.from(having('"y":"\xff"'), 'latin1');
    expect(expectInvalid(await post(rig, path, latin1))).toBe('The body is not valid JSON: it is not UTF-8.');
  });

  const utf16 = Buffer.from(valid, 'utf16le');
  const utf32 = Buffer.from([...valid].flatMap((letter) => [letter.charCodeAt(0), 0, 0, 0]));
  test.each([
    ['UTF-16', 'little end first', utf16],
    ['UTF-16', 'little end first, with its mark', Buffer.concat([Buffer.of(0xff, 0xfe), utf16])],
    ['UTF-16', 'big end first', Buffer.from(utf16).swap16()],
    ['UTF-16', 'big end first, with its mark', Buffer.from(`\ufeff${valid}`, 'utf16le').swap16()],
    ['UTF-16', 'behind blanks', Buffer.from(`\r\n ${valid}`, 'utf16le')],
    ['UTF-32', 'little end first', utf32],
    ['UTF-32', 'little end first, with its mark', Buffer.concat([Buffer.of(0xff, 0xfe, 0, 0), utf32])],
    ['UTF-32', 'big end first', Buffer.from(utf32).swap32()],
    ['UTF-16', 'of more than a MiB', Buffer.from(having(`"y":"${'x'.repeat(MiB)}"`), 'utf16le')],
    ['UTF-16', 'of more than is parsed here', Buffer.from(having(`"y":"${'x'.repeat(40_000)}"`), 'utf16le')],
  ])('a body in %s, %s, gets an error that asks for JSON in UTF-8', async (encoding, _how, body) => {
    const before = wall.calls.length;
    for (const route of [
      path,
      '/v1/completions',
      '/v1/responses',
      '/v1/messages',
      '/v1/messages/count_tokens',
    ]) {
      const answer = await post(rig, route, body);
      expect([answer.status, answer.json]).toMatchObject([
        400,
        { error: { message: `The body is ${encoding} text. Send JSON in UTF-8.` } },
      ]);
    }
    expect(wall.calls).toHaveLength(before);
  });

  test.each([
    ['"model":1', 'model'],
    ['"Stop":[]', 'Stop'],
    ['"y":1,"y":2', 'y'],
  ])('a repeated member, as in %s, is named', async (members, param) => {
    expect(errorOf(await post(rig, path, having(members))).param).toBe(param);
  });
});

// Servers in Go take each of these for the parameter; to us they would be members that nobody has looked at.
describe('the error for a parameter in wrong case shows the right spelling', () => {
  test.each([
    ['/v1/chat/completions', 'Stream', 'stream', 'true'],
    ['/v1/chat/completions', 'max_token\u017f', 'max_tokens', '1e9'],
    ['/v1/chat/completions', 'MAX_TOKENS', 'max_tokens', `1e9,"padding":"${'x'.repeat(20_000)}"`],
    ['/v1/completions', 'Best_Of', 'best_of', '20,"prompt":"x"'],
    ['/v1/responses', 'Max_Output_To\u212aens', 'max_output_tokens', '1e9,"input":"x"'],
    ['/v1/messages', 'STREAM', 'stream', 'true,"max_tokens":1'],
    ['/v1/messages/count_tokens', 'System', 'system', '"x"'],
  ])('%s %s', async (route, param, meant, value) => {
    const before = wall.calls.length;
    const answer = await post(
      rig,
      route,
      `{"model":"m","messages":[{"role":"user","content":"x"}],"${param}":${value}}`,
    );
    expect([answer.status, answer.json]).toMatchObject([
      400,
      { error: { code: 'invalid_parameter', message: `'${param}' is written '${meant}'.` } },
    ]);
    expect(wall.calls).toHaveLength(before);
  });
});

describe('a byte order mark in front of the body', () => {
  const mark = Buffer.of(0xef, 0xbb, 0xbf);
  const question = '"messages":[{"role":"user","content":"x"}]';
  const bodies = {
    '/v1/chat/completions': `{"model":"m",${question}}`,
    '/v1/completions': '{"model":"m","prompt":"x"}',
    '/v1/responses': '{"model":"m","input":"x"}',
    '/v1/messages': `{"model":"m","max_tokens":1,${question}}`,
    '/v1/messages/count_tokens': `{"model":"m",${question}}`,
  } as const;

  test.each(Object.entries(bodies))('is skipped at %s', async (route, body) => {
    const plain = await post(rig, route, body);
    const marked = await post(rig, route, Buffer.concat([mark, Buffer.from(body)]));
    expect([plain.status, marked.status]).toEqual([200, 200]);
  });

  test.each([10, 20_000, 200_000, 2 * MiB])(
    'of %i bytes and more does not go on, and all else does',
    async (bytes) => {
      const body = having(`"y":"${'x'.repeat(bytes)}"`);
      expect((await post(rig, path, Buffer.concat([mark, Buffer.from(body)]))).status).toBe(200);
      expect(latest(wall).bodyText).toBe(body.replace('"m"', '"upstream-0"'));
    },
  );

  test('is skipped if it arrives byte by byte', async () => {
    const body = Buffer.concat([mark, Buffer.from(having(`"y":"${'x'.repeat(20_000)}"`))]);
    expect(
      parseBody([...mark].map((byte) => Buffer.of(byte)).concat(body.subarray(3))).member('model'),
    ).toBeDefined();
  });
});

describe('odd JSON that is valid is forwarded unchanged', () => {
  const corpus: Readonly<Record<string, string | Uint8Array>> = {
    'blanks of every kind': `\r\n\t ${valid.replaceAll(',', ' ,\r\n\t')} \r\n`,
    'a lone surrogate, escaped': having('"y":"\\ud800"'),
    'surrogates in the wrong order': having('"y":"\\udc00\\ud800"'),
    'an escaped NUL': having('"y":"a\\u0000b"'),
    'an escaped solidus': having('"y":"\\/"'),
    'a byte order mark inside a string': having('"y":"\ufeff"'),
    'a number beyond all doubles': having('"y":1e400'),
    'a number with 400 digits': having(`"y":${'9'.repeat(400)}`),
    'negative zero': having('"y":-0.0e-0'),
    'the empty name': having('"":1'),
    'an escaped name': having('"\\u0079":1'),
    'inner members twice': having('"y":{"a":1,"a":2}'),
    'a delete character': having('"y":"\x7f"'),
  };

  test.each(Object.entries(corpus))('%s', async (_name, body) => {
    const answer = await post(rig, path, body);
    expect(answer.status).toBe(200);
    expect(latest(wall).bodyText).toBe(String(body).replace('"m"', '"upstream-0"'));
  });

  test.each([
    having('"__proto__":{"polluted":1}'),
    having('"constructor":{"prototype":{"polluted":1}}'),
    having('"y":{"__proto__":{"polluted":1}}'),
    valid.replace('"role"', '"__proto__":{"polluted":1},"role"'),
    having(
      '"stream":true,"stream_options":{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}',
    ),
    having('"metadata":{"__proto__":"polluted"}'),
    having('"logit_bias":{"__proto__":1}'),
  ])('members with the names of Object.prototype change nothing: %s', async (body) => {
    const before = Reflect.ownKeys(Object.prototype);
    expect((await post(rig, path, body)).status).toBe(200);
    expect(Reflect.ownKeys(Object.prototype)).toEqual(before);
    expect(Reflect.get({}, 'polluted')).toBeUndefined();
  });

  test.each(['__proto__', 'constructor', 'toString', 'hasOwnProperty'])(
    'no model is named %s',
    async (model) => {
      for (const prompt of ['/v1/completions', path]) {
        const answer = await post(rig, prompt, {
          model,
          prompt: 'x',
          messages: [{ role: 'user', content: 'x' }],
        });
        expect([answer.status, errorOf(answer).code]).toEqual([404, 'model_not_found']);
      }
    },
  );
});

describe('JSON bombs', () => {
  const nested = (levels: number, open = '[', close = ']'): string =>
    having(`"y":${open.repeat(levels)}${close.repeat(levels)}`);

  test('64 levels are accepted', async () => {
    expect((await post(rig, path, nested(63))).status).toBe(200);
  });

  test.each([
    ['65 levels', nested(64)],
    ['65 levels of objects', having(`"y":${'{"a":'.repeat(64)}1${'}'.repeat(64)}`)],
    ['65 levels that never end', valid.slice(0, -1).concat(',"y":', '['.repeat(64))],
    ['100,000 levels', nested(100_000)],
    ['a million opening brackets', `{"model":"m","y":${'['.repeat(MiB)}`],
    [
      '65 levels inside the messages',
      `{"model":"m","messages":[{"role":"user","content":${'['.repeat(63)}${']'.repeat(63)}}]}`,
    ],
  ])('%s are refused', async (_name, body) => {
    expect(expectInvalid(await post(rig, path, body))).toBe('The body nests deeper than 64 levels.');
  });

  /** The structural characters that stand around `zeros`. */
  const around = 15;
  const withTokens = (tokens: number, bytes: number): string => {
    const zeros = `[${Array.from({ length: tokens - around }, () => '0').join(',')}]`;
    const head = `{"model":"m","messages":[{"role":"user","content":"x"}],"y":${zeros},"pad":"`;
    return `${head}${'p'.repeat(bytes - head.length - 2)}"}`;
  };

  test.each([
    ['as many as may be', 250_000, 2_100_000],
    ['dense but small', 30_000, 64 * 1024],
    ['one for every eight bytes of a larger body', 10_000, 80_000],
  ])('%s: %i values in %i bytes are accepted', async (_name, tokens, bytes) => {
    const body = withTokens(tokens, bytes);
    expect(body).toHaveLength(bytes);
    expect((await post(rig, path, body)).status).toBe(200);
  });

  test.each([
    ['more than may be', 250_001, 2_100_000],
    ['too dense', 8_193, 64 * 1024 + 1],
    ['too dense', 10_001, 80_000],
  ])('%s: %i values in %i bytes are refused', async (_name, tokens, bytes) => {
    const message = expectInvalid(await post(rig, path, withTokens(tokens, bytes)));
    expect(message).toMatch(/^The body has too many values for its size/);
  });

  test('structure inside strings does not count', async () => {
    const content = '[{:,}]'.repeat(100_000);
    const body = { model: 'm', messages: [{ role: 'user', content }] };
    expect((await post(rig, path, body)).status).toBe(200);
  });
});

describe('content types', () => {
  test.each([
    'application/json',
    'application/json; charset=utf-8',
    'application/json; charset="utf-8"; a=b',
    'application/json; charset=UTF8',
    'Application/JSON;charset=UTF-8',
    'application/json;',
    'application/vnd.acme+json',
    'application/json ; a="b;c"',
  ])("'%s' is accepted", async (type) => {
    expect((await post(rig, path, valid, { ...bearer, 'content-type': type })).status).toBe(200);
  });

  test('none at all is accepted, if the body is JSON', async () => {
    const connection = await openRaw({ port: portOf(rig) });
    await connection.send(
      `POST ${path} HTTP/1.1\r\nhost: a\r\nauthorization: ${bearer.authorization}\r\ncontent-length: ${valid.length}\r\n\r\n${valid}`,
    );
    expect((await connection.answer()).status).toBe(200);
    connection.close();
  });

  test.each([
    '',
    'text/plain',
    'text/json',
    'text/html; charset=utf-8',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/octet-stream',
    'application/jsonx',
    'application/x-ndjson',
    'application/json, application/json',
    'application/jsonp',
    'json',
    '*/*',
    'application/',
    ';application/json',
    'garbage; = ;',
  ])("'%s' is 415", async (type) => {
    const answer = await post(rig, path, valid, { ...bearer, 'content-type': type });
    expect(answer.status).toBe(415);
    const { message, ...error } = errorOf(answer);
    expect(error).toEqual({ type: 'invalid_request_error', code: 'unsupported_media_type', param: null });
    expect(message).toBe(`The content type '${type}' is not supported; send JSON as application/json.`);
  });

  test.each(['utf-16', 'UTF-16LE', 'iso-8859-1', 'utf-32', 'utf-88'])(
    'the character set %s is 415',
    async (charset) => {
      for (const type of [
        `application/json; charset=${charset}`,
        `application/json;a=b;Charset="${charset}"`,
      ]) {
        const answer = await post(rig, path, valid, { ...bearer, 'content-type': type });
        expect(answer.status).toBe(415);
        expect(errorOf(answer)).toMatchObject({
          message: `The character set '${charset}' is not supported; send JSON in UTF-8.`,
          code: 'unsupported_media_type',
        });
      }
    },
  );

  test.each(['gzip', 'GZIP', 'br', 'zstd', 'deflate', 'gzip, identity', 'x', ''])(
    'the content encoding %s is 415',
    async (encoding) => {
      const answer = await post(rig, path, gzipSync(valid), { ...bearer, 'content-encoding': encoding });
      expect(answer.status).toBe(415);
      expect(errorOf(answer)).toMatchObject({
        message: `The content encoding '${encoding}' is not supported; send the body uncompressed.`,
        code: 'unsupported_media_type',
      });
    },
  );

  test.each(['identity', 'Identity'])('the content encoding %s says nothing', async (encoding) => {
    expect((await post(rig, path, valid, { ...bearer, 'content-encoding': encoding })).status).toBe(200);
  });
});

describe('size', () => {
  const head = (framing: string): string =>
    `POST ${path} HTTP/1.1\r\nhost: a\r\nauthorization: ${bearer.authorization}\r\ncontent-type: application/json\r\n${framing}\r\n\r\n`;

  async function expectTooLarge(connection: RawConnection): Promise<void> {
    const answer = await connection.answer();
    const finished = await answer.finished;
    expect(answer.status).toBe(413);
    expect(finished.ending).toBe('length-complete');
    expect(errorOf(finished)).toEqual({
      message: 'The request body is larger than 32 MiB; send less.',
      type: 'invalid_request_error',
      code: 'request_too_large',
      param: null,
    });
    expect(answer.headers).toMatchObject({ connection: 'close', 'x-should-retry': 'false' });
  }

  test('exactly 32 MiB are accepted', async () => {
    const prefix = having('"pad":"').slice(0, -1);
    const body = Buffer.alloc(32 * MiB, 'p');
    body.write(prefix);
    body.write('"}', body.length - 2);
    expect((await post(rig, path, body)).status).toBe(200);
    expect(latest(wall).bodyText.length).toBe(32 * MiB + 'upstream-0'.length - 1);
  });

  test('one byte more is refused before it is sent, and the connection is closed', async () => {
    const connection = await openRaw({ port: portOf(rig) });
    const sinceMs = performance.now();
    await connection.send(head(`content-length: ${32 * MiB + 1}`));
    await expectTooLarge(connection);
    expect(await connection.closed).toBe('fin');
    // Not only when the time for a whole request is over, which is 30 s.
    expect(performance.now() - sinceMs).toBeLessThan(15_000);
    connection.close();
  });

  // A connection that is closed while bytes are in flight is reset, and the reset destroys an answer that has
  // arrived and was not read yet. So the rest is read first: a client that sends all and only then reads sees the answer.
  test.each([32 * MiB + 1, 33 * MiB])(
    '%i bytes, announced and sent before anything is read',
    async (bytes) => {
      const slow = await startRig(tableOf([{ baseUrl: wall.baseUrl }]));
      const connection = await openRaw({ port: portOf(slow) });
      try {
        connection.pause();
        await connection.send(head(`content-length: ${bytes}`));
        for (let sent = 0; sent < bytes; sent += MiB) {
          await connection.send(Buffer.alloc(Math.min(MiB, bytes - sent), 0x20));
        }
        connection.resume();
        await expectTooLarge(connection);
        expect(await connection.closed).toBe('fin');
      } finally {
        connection.close();
        await slow.close();
      }
    },
  );

  test('33 MiB in chunks, sent before anything is read', async () => {
    const slow = await startRig(tableOf([{ baseUrl: wall.baseUrl }]));
    const connection = await openRaw({ port: portOf(slow) });
    try {
      connection.pause();
      await connection.send(head('transfer-encoding: chunked'));
      const chunk = Buffer.concat([Buffer.from('100000\r\n'), Buffer.alloc(MiB, 0x20), Buffer.from('\r\n')]);
      for (let sent = 0; sent < 33; sent++) await connection.send(chunk);
      await connection.send('0\r\n\r\n');
      connection.resume();
      await expectTooLarge(connection);
      expect(await connection.closed).toBe('fin');
    } finally {
      connection.close();
      await slow.close();
    }
  });

  test('a client that sends chunks for ever is disconnected', async () => {
    const connection = await openRaw({ port: portOf(rig) });
    await connection.send(head('transfer-encoding: chunked'));
    const chunk = Buffer.concat([Buffer.from('100000\r\n'), Buffer.alloc(MiB, 0x20), Buffer.from('\r\n')]);
    const sending = (async () => {
      for (;;) await connection.send(chunk);
    })();
    await expect(sending).rejects.toThrow();
    expect(await connection.closed).not.toBe('self');
    connection.close();
  });

  test('fetch receives the answer, too', async () => {
    const response = await fetch(`${rig.url}${path}`, {
      method: 'POST',
      headers: { ...bearer, 'content-type': 'application/json' },
      body: Buffer.alloc(33 * MiB, 0x20),
    });
    expect(response.status).toBe(413);
    expect(await response.json()).toMatchObject({ error: { code: 'request_too_large' } });
  });

  test('without a key nothing of the body is read: 401 comes first', async () => {
    const connection = await openRaw({ port: portOf(rig) });
    await connection.send(`POST ${path} HTTP/1.1\r\nhost: a\r\ncontent-length: ${33 * MiB}\r\n\r\n`);
    expect((await connection.answer()).status).toBe(401);
    connection.close();
  });

  test('at an unknown path nothing of the body is read: 404 comes first', async () => {
    const connection = await openRaw({ port: portOf(rig) });
    await connection.send(`POST /nowhere HTTP/1.1\r\nhost: a\r\ncontent-length: ${31 * MiB}\r\n\r\n`);
    expect((await connection.answer()).status).toBe(404);
    connection.close();
  });
});
