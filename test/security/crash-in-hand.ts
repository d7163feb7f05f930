// Makes a process fail at the worst moment, when a credential is in its hands: to be preloaded with `--import`. At SIGWINCH the next
// request that is written to an upstream becomes part of an error that nobody catches.
//
// PENSTOCK_TEST_CRASH: `exception`, `rejection`, or `stage`: thrown where the request is sent, within our own code.

import { Socket } from 'node:net';

const how = process.env.PENSTOCK_TEST_CRASH ?? 'exception';
let isArmed = false;
process.on('SIGWINCH', () => {
  isArmed = true;
  process.stdout.write('armed\n');
});

const write = Reflect.get(Socket.prototype, 'write');
Reflect.set(Socket.prototype, 'write', function (this: Socket, ...args: unknown[]): unknown {
  const [text] = args;
  if (isArmed && typeof text === 'string' && /^post .*\r\nauthorization:/ims.test(text)) {
    isArmed = false;
    process.stdout.write('fired\n');
    // As libraries do: what was at hand hangs on the error.
    const failure = Object.assign(new Error('the crash of a test'), { request: text, cause: { text } });
    if (how === 'stage') throw failure;
    if (how === 'rejection') void Promise.reject(failure);
    else
      setImmediate(() => {
        throw failure;
      });
  }
  return Reflect.apply(write, this, args);
});
