// What do the benchmark's own tests start? The compiled programs, in processes that end with the test.

import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLauncher, type Launcher } from '../../../tools/bench/launcher.ts';
import type { Load } from '../../../tools/bench/load.ts';
import { buildNative, type NativePrograms } from '../../../tools/bench/native.ts';
import { readSettings } from '../../../tools/bench/settings.ts';
import { startUpstream, type Upstream } from '../../../tools/bench/upstream.ts';
import { listenKept } from '../../support/listen-kept.ts';

export type Bench = {
  launcher: Launcher;
  programs: NativePrograms;
  upstream: Upstream;
  workFolder: string;
  close(): Promise<void>;
};

export async function startBench(): Promise<Bench> {
  const invocation = readSettings([], process.env);
  if (invocation.kind !== 'run') throw new Error('no arguments must mean a run');
  const { cacheFolder, environment } = invocation.settings;
  const programs = await buildNative(cacheFolder);
  const workFolder = await mkdtemp(join(tmpdir(), 'penstock-bench-test-'));
  const launcher = createLauncher(workFolder, environment);
  const upstream = await startUpstream(launcher, programs.mock);
  return {
    launcher,
    programs,
    upstream,
    workFolder,
    async close() {
      await launcher.close();
      await rm(workFolder, { recursive: true, force: true });
    },
  };
}

/** A short closed loop of one connection; tests say what differs. */
export function makeLoad(difference: Partial<Load> & { port: number }): Load {
  return { model: 'unary', bodyBytes: 1024, connections: 1, seconds: 0.2, leadMs: 0, ...difference };
}

export type ScriptedServer = { port: number; close(): Promise<void> };

/** A server that gives every complete request to `answer`, head and body as text, and lets it write what it likes. */
export async function startScripted(
  answer: (socket: Socket, request: { head: string; body: string }) => void,
): Promise<ScriptedServer> {
  const server: Server = createServer((socket) => {
    let text = '';
    socket.setEncoding('latin1').on('data', (part: string) => {
      text += part;
      const end = text.indexOf('\r\n\r\n');
      if (end < 0) return;
      const head = text.slice(0, end);
      const body = text.slice(end + 4);
      if (body.length < Number(/content-length: (\d+)/.exec(head)?.[1])) return;
      text = '';
      answer(socket, { head, body });
    });
  });
  const { port, close } = await listenKept(server);
  return { port, close };
}
