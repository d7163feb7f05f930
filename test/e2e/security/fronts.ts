// Does a server in front of a gateway see the same requests as the gateway? HAProxy and nginx mark each request that they pass on; the
// gateway's side counts what it takes for requests. One without a mark, or with two, was hidden in another.

import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startChild, untilReady } from '../../cluster/child.ts';
import { freePort } from '../../cluster/free-port.ts';
import { bearer } from '../../gateway/endpoints/ask.ts';
import { startRig, tableOf } from '../../gateway/rig.ts';
import { plainAnswers, startRecordingUpstream } from '../../security/recording-upstream.ts';
import { smuggledRequests } from '../../security/smuggled.ts';
import { neededProgram } from '../../support/needed-program.ts';
import { openRaw, rawCall } from '../../support/raw-client.ts';

export interface FrontRun {
  /** Odd requests that were sent through the front, and good ones beside them. */
  readonly sent: number;
  /** Requests that the gateway took for such. */
  readonly seen: number;
  /** Of them, those that the front had not passed on as one request. */
  readonly unmarked: number;
  /** Good requests that got an answer meant for another. */
  readonly confused: number;
}

export const fronts = ['haproxy', 'nginx'] as const;

const mark = 'x-front-id';

/** More that two servers may read in two ways, or that may end in a tunnel. */
function furtherRequests(authorization: string): Readonly<Record<string, string>> {
  const head = (line: string, more: string): string =>
    `${line}\r\nhost: a\r\nauthorization: ${authorization}\r\n${more}\r\n`;
  const hidden = 'GET /v1/models/hidden HTTP/1.1\r\nhost: a\r\n\r\n';
  return {
    'an upgrade to HTTP/2':
      head(
        'GET /v1/models HTTP/1.1',
        'connection: upgrade, http2-settings\r\nupgrade: h2c\r\nhttp2-settings: AAMAAABkAAQAAP__\r\n',
      ) + hidden,
    'an upgrade to WebSocket':
      head(
        'GET /v1/responses HTTP/1.1',
        'connection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n',
      ) + hidden,
    CONNECT: head('CONNECT 127.0.0.1:1 HTTP/1.1', '') + hidden,
    TRACE: head('TRACE /v1/models HTTP/1.1', ''),
    'two hosts': head('GET /v1/models HTTP/1.1', 'host: b\r\n'),
    'an absolute address of another host': head('GET http://b/v1/models HTTP/1.1', ''),
    'a body behind a GET': `${head('GET /v1/models HTTP/1.1', `content-length: ${hidden.length}\r\n`)}${hidden}`,
    'a body behind a HEAD': `${head('HEAD /v1/models HTTP/1.1', `content-length: ${hidden.length}\r\n`)}${hidden}`,
    'chunks behind a GET': `${head('GET /v1/models HTTP/1.1', 'transfer-encoding: chunked\r\n')}0\r\n\r\n${hidden}`,
    'an expectation without a body': `${head('POST /v1/chat/completions HTTP/1.1', `expect: 100-continue\r\ncontent-length: ${hidden.length}\r\n`)}${hidden}`,
    'a header that takes others away': head(
      'GET /v1/models HTTP/1.1',
      `connection: close, ${mark}, authorization\r\n`,
    ),
    'trailers that are headers': `${head('POST /v1/chat/completions HTTP/1.1', 'transfer-encoding: chunked\r\ntrailer: content-length\r\n')}0\r\ncontent-length: 5\r\nhost: b\r\n\r\n${hidden}`,
    'HTTP/1.0 with a length and chunks':
      head('POST /v1/chat/completions HTTP/1.0', 'content-length: 3\r\ntransfer-encoding: chunked\r\n') +
      `0\r\n\r\n${hidden}`,
  };
}

export async function runFront(front: (typeof fronts)[number], rounds: number): Promise<FrontRun> {
  const folder = await mkdtemp(join(tmpdir(), 'penstock-front-'));
  const upstream = await startRecordingUpstream(() => ({
    body: JSON.stringify(plainAnswers['openai-chat']),
  }));
  const rig = await startRig(tableOf([{ baseUrl: `http://127.0.0.1:${upstream.port}/v1` }]));
  const gatewayPort = Number(new URL(rig.url).port);
  const marks: (readonly string[])[] = [];
  const note = (message: unknown): void => {
    const request =
      typeof message === 'object' && message !== null && 'request' in message ? message.request : undefined;
    if (!(request instanceof IncomingMessage) || request.socket.localPort !== gatewayPort) return;
    const { rawHeaders } = request;
    marks.push(
      rawHeaders.filter((_, index) => rawHeaders[index - 1]?.toLowerCase() === mark && index % 2 === 1),
    );
  };
  subscribe('http.server.request.start', note);
  const port = await freePort();
  const config = join(folder, 'front.conf');
  const log = join(folder, 'front.log');
  await mkdir(join(folder, 'temp'));
  await writeFile(
    config,
    front === 'haproxy' ? haproxyConfig(port, gatewayPort) : nginxConfig(folder, port, gatewayPort),
  );
  const args = front === 'haproxy' ? ['-db', '-f', config] : ['-c', config, '-p', folder];
  const child = await startChild(await neededProgram(front), args, log);
  let sent = 0;
  let confused = 0;
  try {
    await untilReady(front, child, log, () => isAnswering(port));
    marks.length = 0;
    const odd = Object.values({
      ...smuggledRequests(bearer.authorization),
      ...furtherRequests(bearer.authorization),
    });
    for (let round = 0; round < rounds; round++) {
      for (const bytes of odd) {
        const connection = await openRaw({ port });
        sent++;
        await connection
          .send(`${bytes}GET /v1/models/behind HTTP/1.1\r\nhost: a\r\n\r\n`)
          .catch(() => undefined);
        // Whatever is answered, and how often: it is over soon.
        connection.halfClose();
        await Promise.race([connection.closed, new Promise((resolve) => setTimeout(resolve, 300))]);
        connection.close();
        const name = `victim-${sent++}`;
        const { status, text } = await rawCall({ port }, { path: `/v1/models/${name}`, headers: bearer });
        if (status !== 404 || !text.includes(name)) confused++;
      }
    }
    const seenMarks = marks.flat();
    const unmarked =
      marks.filter(({ length }) => length !== 1).length + (seenMarks.length - new Set(seenMarks).size);
    return { sent, seen: marks.length, unmarked, confused };
  } finally {
    unsubscribe('http.server.request.start', note);
    await child.kill();
    await rig.close();
    await upstream.close();
    await rm(folder, { recursive: true, force: true });
  }
}

function isAnswering(port: number): Promise<boolean> {
  return rawCall({ port }, { path: '/v1/models' }).then(
    ({ status }) => status === 200,
    () => false,
  );
}

function haproxyConfig(port: number, gatewayPort: number): string {
  return `
defaults
  mode http
  timeout connect 3s
  timeout client 5s
  timeout server 5s
frontend models
  bind 127.0.0.1:${port}
  http-request set-header ${mark} %[uuid()]
  default_backend gateways
backend gateways
  http-reuse always
  server gateway 127.0.0.1:${gatewayPort}
`;
}

function nginxConfig(folder: string, port: number, gatewayPort: number): string {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((name) => `  ${name}_temp_path ${join(folder, 'temp', name)};`)
    .join('\n');
  return `
daemon off;
worker_processes 1;
pid ${join(folder, 'nginx.pid')};
error_log ${join(folder, 'error.log')};
events {}
http {
${temporary}
  access_log off;
  upstream gateways { server 127.0.0.1:${gatewayPort}; keepalive 8; }
  server {
    listen 127.0.0.1:${port};
    location / {
      proxy_pass http://gateways;
      proxy_http_version 1.1;
      proxy_set_header connection "";
      proxy_set_header ${mark} $request_id;
    }
  }
}
`;
}
