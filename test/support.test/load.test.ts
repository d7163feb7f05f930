// Do the callers of a load take anything for an answer that is none?

import { createServer } from 'node:http';
import { expect, test } from 'vitest';
import { listenKept } from '../support/listen-kept.ts';
import { startLoad } from '../support/load/start.ts';
import { until } from '../support/until.ts';

const chunk = (delta: object, finish: string | null): string =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
const said = chunk({ content: 'The gate' }, null);
const done = 'data: [DONE]\n\n';
const whole = { choices: [{ message: { content: 'The gate opens.' }, finish_reason: 'stop' }] };

test.each([
  ['a whole answer', JSON.stringify(whole), said + chunk({}, 'stop') + done, false],
  ['nothing, and half a stream with a good end', '{}', said + done, true],
  ['an error under a good status', '{"error":{}}', `${said}data: {"error":{}}\n\n${done}`, true],
  ['no content', '{"choices":[{"message":{"content":""}}]}', chunk({}, 'stop') + done, true],
])('%s', async (_, body, stream, isBad) => {
  await using parts = new AsyncDisposableStack();
  const asked = { whole: 0, streams: 0 };
  const server = createServer(async (request, response) => {
    let text = '';
    for await (const piece of request) text += piece;
    const isStream = text.includes('"stream":true');
    asked[isStream ? 'streams' : 'whole']++;
    response.end(isStream ? stream : body);
  });
  const { port, close } = await listenKept(server);
  parts.defer(close);
  const load = await startLoad({
    urls: [`http://127.0.0.1:${port}`],
    key: 'key',
    requestsPerSecond: 50,
    streams: 2,
    models: { request: 'm', stream: 'm' },
  });
  parts.defer(() => load.kill());
  await until(async () => asked.whole > 3 && asked.streams > 3);
  const { requests, failed, streams, cut } = await load.stop();
  expect([failed, cut]).toEqual(isBad ? [requests, streams] : [0, 0]);
});
