// What if the event loop of a gateway hangs, or the process crashes?

import { readdir, readFile } from 'node:fs/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { rawCall } from '../../support/raw-client.ts';
import { tableOf } from '../rig.ts';
import { type Folder, type ListeningProcess, launchListening, makeFolder } from './gateway-process.ts';

let folder: Folder;
let gateway: ListeningProcess;

beforeEach(async () => {
  folder = await makeFolder();
  await folder.putTable(tableOf([{ baseUrl: 'http://127.0.0.1:9/v1' }]));
});

afterEach(async () => {
  await gateway.process.stop();
  await folder.remove();
});

/** A gateway whose event loop stops for so long on a signal without another meaning. */
async function launchThatHangs(ms: number, env: Record<string, string> = {}): Promise<void> {
  const hang = `process.on('SIGWINCH',()=>{const end=performance.now()+${ms};while(performance.now()<end);console.log('it hung')})`;
  gateway = await launchListening(folder, {
    NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(hang)}`,
    ...env,
  });
}

const isReady = async (): Promise<boolean> => {
  const port = Number(new URL(gateway.metricsUrl).port);
  return (await rawCall({ port }, { path: '/readyz' })).status === 200;
};

test('a process that hangs ends with one log line, and leaves no dump', async () => {
  await launchThatHangs(600_000, { PENSTOCK_WATCHDOG_MS: '1000' });
  gateway.process.signal('SIGWINCH');
  expect(await gateway.process.exit).toEqual({ code: null, signal: 'SIGKILL' });
  const said = gateway.process.stdout().trim().split('\n').at(-1) ?? '';
  expect(JSON.parse(said)).toMatchObject({
    level: 'error',
    message: 'the event loop hangs, and the process ends',
    hungMs: 1_000,
  });
});

test('a process that hangs for a shorter time goes on', async () => {
  await launchThatHangs(1_200);
  gateway.process.signal('SIGWINCH');
  await gateway.process.line(/it hung/);
  await expect.poll(isReady, { timeout: 10_000 }).toBe(true);
});

test('a process that was frozen as a whole for longer goes on', async () => {
  await launchThatHangs(0, { PENSTOCK_WATCHDOG_MS: '1000' });
  gateway.process.signal('SIGSTOP');
  // Nothing tells of a stopped process that time passes for it; what must not happen would happen right behind this.
  await new Promise((resolve) => setTimeout(resolve, 2_500));
  gateway.process.signal('SIGCONT');
  gateway.process.signal('SIGWINCH');
  await gateway.process.line(/it hung/);
  await expect.poll(isReady, { timeout: 10_000 }).toBe(true);
});

test.runIf(process.platform === 'linux')(
  'core dumps hold no memory, where the kernel makes any',
  async () => {
    await launchThatHangs(0);
    const filter = await readFile(`/proc/${gateway.process.pid}/coredump_filter`, 'utf8');
    expect(Number.parseInt(filter, 16)).toBe(0);
  },
);

/** Reports of Node hold the environment, and what failed with all that hangs on it. */
test.each([
  ['is asked to by a signal', '--report-on-signal --report-signal=SIGWINCH', ''],
  [
    'runs out of memory',
    '--report-on-fatalerror --max-heap-size=200',
    "process.on('SIGWINCH',()=>{const all=[];for(;;)all.push({all:[...all]})})",
  ],
])('a process that %s writes no report, whatever its environment sets', async (_, options, code) => {
  gateway = await launchListening(folder, {
    NODE_OPTIONS: `${options} --report-directory=${folder.path} --import=data:text/javascript,${encodeURIComponent(code)}`,
  });
  gateway.process.signal('SIGWINCH');
  if (code === '') gateway.process.signal('SIGTERM');
  await gateway.process.exit;
  expect((await readdir(folder.path)).filter((name) => name.startsWith('report.'))).toEqual([]);
});
