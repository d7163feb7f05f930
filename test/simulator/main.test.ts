// The simulator runs as a process of its own and goes when it is asked to.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { describe, expect, it } from 'vitest';
import { readSettings } from '../../simulator/settings.ts';
import { post, request } from './support.ts';

const entry = new URL('../../simulator/main.ts', import.meta.url).pathname;

describe('the process', () => {
  it('says where it listens, answers, and ends cleanly on SIGTERM with a call still open', async () => {
    const child = spawn(process.execPath, [entry], {
      env: { ...process.env, PORT: '0', MODELS: 'one, two' },
    });
    const exited = once(child, 'exit');
    try {
      const [line] = (await once(createInterface(child.stdout), 'line')) as [string];
      const url = /http:\S+/.exec(line)?.[0] ?? '';
      const list = (await (await fetch(`${url}/v1/models`)).json()) as { data: { id: string }[] };
      expect(list.data.map(({ id }) => id)).toEqual(['one', 'two']);
      const open = post(
        url,
        '/v1/chat/completions',
        request('chat', { model: 'one+fault=hang-after-headers', stream: true }),
      );
      await open;
    } finally {
      child.kill('SIGTERM');
    }
    expect(await exited).toEqual([0, null]);
  });

  it('refuses an invalid port', () => {
    expect(() => readSettings({ PORT: 'http' })).toThrow("PORT must be a number from 0 to 65535, not 'http'");
    expect(() => readSettings({ PORT: '70000' })).toThrow('PORT');
    expect(readSettings({})).toEqual({ port: 9090, host: '127.0.0.1', models: undefined });
  });
});
