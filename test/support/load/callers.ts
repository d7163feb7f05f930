// Callers of gateways, in a process of their own: so many requests a second, and so many streams open at any time, through
// kept connections as the SDKs keep them, and without a second try; what is no whole answer has failed. On SIGTERM nothing
// new begins, what runs comes to its end, and the last line of the output says how it went.

import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { Agent, setGlobalDispatcher } from 'undici';
import { type LoadFigures, loadPlanSchema } from './figures.ts';

const { urls, key, requestsPerSecond, streams, models } = loadPlanSchema.parse(
  JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8')),
);
// What the global fetch does, and no limit of its own on a stream.
setGlobalDispatcher(new Agent({ bodyTimeout: 0, headersTimeout: 0 }));

let isEnding = false;
const failures = new Map<string, number>();
const figures = { requests: 0, failed: 0, lastFailedBeganMs: 0, streams: 0, cut: 0, worstGapMs: 0 };
const tookMs: number[] = [];
const running = new Set<Promise<void>>();
let openStreams = 0;
let wasFull = false;
let turn = 0;

const contentOf = /"content": ?"[^"]/;
const reasonOf = /"finish_reason": ?"stop"/;

console.log('callers are ready');
const pacer = setInterval(sendDue, 5);
const startedMs = performance.now();
for (let index = 0; index < streams; index++) track(keepStreaming(index));
await once(process, 'SIGTERM');
isEnding = true;
clearInterval(pacer);
await Promise.all(running);
const sorted = tookMs.sort((a, b) => a - b);
const at = (share: number) => Math.round(sorted[Math.floor(sorted.length * share)] ?? 0);
const said: LoadFigures = {
  ...figures,
  p50Ms: at(0.5),
  p99Ms: at(0.99),
  maxMs: Math.round(sorted.at(-1) ?? 0),
  worstGapMs: Math.round(figures.worstGapMs),
  seconds: Math.round((performance.now() - startedMs) / 1_000),
  reasons: [...failures].map(([reason, count]) => `${count} × ${reason}`),
};
console.log(JSON.stringify(said));
process.exit();

/** As many as should have been sent by now: a late timer loses none. */
function sendDue(): void {
  const due = Math.floor(((performance.now() - startedMs) / 1_000) * requestsPerSecond);
  while (figures.requests < due) {
    figures.requests++;
    track(sendOne());
  }
}

function track(work: Promise<void>): void {
  running.add(work);
  void work.finally(() => running.delete(work));
}

async function sendOne(): Promise<void> {
  const beganMs = performance.now();
  const beganWallMs = Date.now();
  try {
    const response = await ask(models.request, false, AbortSignal.timeout(30_000));
    const body = await response.text();
    if (!response.ok || !isAnswer(body)) throw new Error(`${response.status} ${body.slice(0, 200)}`);
    tookMs.push(performance.now() - beganMs);
  } catch (error) {
    figures.failed++;
    figures.lastFailedBeganMs = Math.max(figures.lastFailedBeganMs, beganWallMs);
    note('request', error);
  }
}

async function keepStreaming(index: number): Promise<void> {
  // Not all at once, so that some begin and some end at any moment.
  await new Promise((resolve) => setTimeout(resolve, index * 20));
  while (!isEnding) {
    try {
      figures.streams++;
      await streamOne();
    } catch (error) {
      figures.cut++;
      note('stream', error);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
}

async function streamOne(): Promise<void> {
  const response = await ask(models.stream, true);
  if (!response.ok || response.body === null)
    throw new Error(`${response.status} ${(await response.text()).slice(0, 200)}`);
  openStreams++;
  if (openStreams === streams && !wasFull) {
    wasFull = true;
    console.log('all streams are open');
  }
  try {
    let hasContent = false;
    let tail = '';
    let lastMs = performance.now();
    for await (const piece of response.body.pipeThrough(new TextDecoderStream())) {
      const nowMs = performance.now();
      figures.worstGapMs = Math.max(figures.worstGapMs, nowMs - lastMs);
      lastMs = nowMs;
      tail = (tail + piece).slice(-2_000);
      hasContent ||= contentOf.test(tail);
    }
    // The marker alone also is behind half an answer, where somebody ends it as if it were whole.
    if (!hasContent || !reasonOf.test(tail) || !tail.includes('data: [DONE]'))
      throw new Error(`no whole stream, it ends ${tail.slice(-300)}`);
  } finally {
    openStreams--;
  }
}

function isAnswer(body: string): boolean {
  try {
    const [choice] = JSON.parse(body).choices;
    return choice.message.content !== '' && choice.finish_reason === 'stop';
  } catch {
    return false;
  }
}

function ask(model: string, stream: boolean, signal?: AbortSignal): Promise<Response> {
  return fetch(`${urls[turn++ % urls.length]}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, stream, messages: [{ role: 'user', content: 'Say hello.' }] }),
    ...(signal && { signal }),
  });
}

function note(what: string, error: unknown): void {
  const causes: string[] = [];
  for (let at: unknown = error; at instanceof Error; at = at.cause)
    causes.push('code' in at && typeof at.code === 'string' ? `${at.message} (${at.code})` : at.message);
  const reason = `${what}: ${causes.join(': ')}`;
  failures.set(reason, (failures.get(reason) ?? 0) + 1);
  console.log(`${new Date().toISOString()} ${reason}`);
}
