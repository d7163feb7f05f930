// Loaded before each file of the unit tier: no test of it opens a socket or starts a program.

import childProcess from 'node:child_process';
import dgram from 'node:dgram';
import { syncBuiltinESMExports } from 'node:module';
import net from 'node:net';

function refuse(what: string): () => never {
  return () => {
    throw new Error(
      `A unit test must not ${what}. Import what does it statically, so that npm test runs the file instead.`,
    );
  };
}

const openSocket = refuse('open a socket');
const startProgram = refuse('start a program');
Object.assign(net.Socket.prototype, { connect: openSocket });
Object.assign(net.Server.prototype, { listen: openSocket });
Object.assign(dgram.Socket.prototype, { bind: openSocket, connect: openSocket, send: openSocket });
Object.assign(childProcess.ChildProcess.prototype, { spawn: startProgram });
Object.assign(childProcess, { spawnSync: startProgram, execSync: startProgram, execFileSync: startProgram });
syncBuiltinESMExports();
