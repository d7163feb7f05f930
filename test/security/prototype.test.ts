// A body, a table or a snapshot with the names that lead to the prototype of all objects changes nothing there (T14). In all test files
// that prototype is sealed (test/setup.ts), and what runs as a process has no __proto__ (images/contents.ts).

import { expect, test } from 'vitest';
import { startProcess } from '../support/process.ts';

test('in every test the prototype of all objects is sealed: a write throws', () => {
  expect(() => Object.assign(Object.prototype, { polluted: true })).toThrow(TypeError);
  expect(Reflect.get({}, 'polluted')).toBeUndefined();
});

test('a process of ours throws where __proto__ is read or written, and opens no debugger at a signal', async () => {
  const script = [
    'let told = [];',
    'for (const touch of [() => ({}).__proto__, () => { ({}).__proto__ = {}; }])',
    '  try { touch(); told.push("went well"); } catch (error) { told.push(error.code); }',
    'process.stdout.write(told.join(" ") + "\\n");',
    'setInterval(() => process.stdout.write("alive\\n"), 20);',
  ];
  const child = await startProcess('--input-type=module', { args: ['--eval', script.join('\n')] });
  try {
    await child.line(/^ERR_PROTO_ACCESS ERR_PROTO_ACCESS$/);
    child.signal('SIGUSR1');
    for (let count = 0; count < 3; count++) await child.nextLine(/alive/);
    expect(child.stderr()).not.toMatch(/debugger/i);
  } finally {
    await child.stop();
  }
});
