// Can a secret get into a log by accident? However it is printed, it does not show itself.

import { Console } from 'node:console';
import { Writable } from 'node:stream';
import { format, inspect } from 'node:util';
import { describe, expect, test } from 'vitest';
import { Secret } from '../../../gateway/table/secret.ts';

const value = 'sk-do-not-show';
const secret = new Secret(value);

test('only a caller that asks for the value by name gets it', () => {
  expect(secret.reveal()).toBe(value);
});

describe('printed', () => {
  test.each([
    ['as a string', () => String(secret)],
    ['in a template', () => `${secret}`],
    ['in a concatenation', () => ''.concat('', String(secret))],
    ['by adding it to a string', () => ['', secret].join('')],
    ['as JSON', () => JSON.parse(JSON.stringify(secret))],
    ['by inspect', () => inspect(secret)],
    ['by format %s', () => format('%s', secret)],
    ['by format %O', () => format('%O', secret)],
    ['by its locale', () => secret.toLocaleString()],
  ])('in %s it shows [redacted]', (_, print) => {
    expect(print()).toBe('[redacted]');
  });

  test.each([
    [
      'inspect without custom functions',
      () => inspect(secret, { customInspect: false, showHidden: true, depth: 9 }),
    ],
    ['inspect of an object around it', () => inspect({ a: { b: [secret] } }, { depth: 9, showHidden: true })],
    ['inspect of a map', () => inspect(new Map([['k', secret]]))],
    ['JSON of an object around it', () => JSON.stringify({ a: { b: [secret] } })],
    ['JSON of a copy', () => JSON.stringify({ ...secret })],
    ['its own members', () => JSON.stringify([Object.entries(secret), Reflect.ownKeys(secret)])],
    ['a structured clone', () => inspect(structuredClone(secret))],
    ['format with every letter', () => format('%s %d %i %f %j %o %O %c', ...Array(8).fill(secret))],
    ['an error made of it', () => inspect(new Error(`failed with ${secret}`, { cause: secret }))],
    ['an error of a failed comparison', () => inspect(Object.assign(new Error('no'), { secret }))],
  ])('%s does not show it', (_, print) => {
    expect(print()).not.toContain(value);
  });

  test('console methods do not show it', () => {
    const written: string[] = [];
    const stream = new Writable({
      write(chunk, _, done) {
        written.push(String(chunk));
        done();
      },
    });
    const console = new Console(stream, stream);
    console.log(secret, { secret });
    console.dir(secret, { showHidden: true });
    console.table([{ secret }]);
    expect(written.join('')).toContain('[redacted]');
    expect(written.join('')).not.toContain(value);
  });
});
