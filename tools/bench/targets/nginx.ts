// nginx, one worker, nothing buffered: the anchor everybody knows.

import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort } from './ports.ts';
import { pinned, runningTarget, type Target } from './target.ts';
import { programVersion } from './versions.ts';

export const nginx: Target = {
  name: 'nginx',
  async describe() {
    const version = await programVersion('nginx', ['-v']);
    if (version === undefined) {
      throw new Error(
        'nginx is not on the PATH. Install it (Debian, Ubuntu: apt-get install nginx-light), or leave it out with --targets',
      );
    }
    return version.replace('nginx version: ', '');
  },
  async start(context) {
    const port = await freePort();
    const folder = join(context.workFolder, `nginx-${port}`);
    await mkdir(folder);
    const configFile = join(folder, 'nginx.conf');
    await writeFile(
      configFile,
      nginxConfig({ port, upstreamPort: context.upstream.port, folder, isRoot: process.getuid?.() === 0 }),
    );
    const launched = await context.launcher.start({
      name: 'nginx',
      command: 'nginx',
      args: ['-p', folder, '-e', join(folder, 'error.log'), '-c', configFile],
      ...pinned(context),
    });
    return runningTarget('nginx', port, launched);
  },
};

/** Without these settings nginx buffers answers and bodies, and drops connections after 1,000 requests. */
function nginxConfig(at: { port: number; upstreamPort: number; folder: string; isRoot: boolean }): string {
  return `daemon off;
${at.isRoot ? 'user root;' : ''}
worker_processes 1;
worker_rlimit_nofile 16384;
pid ${at.folder}/nginx.pid;
error_log ${at.folder}/error.log warn;
events {
  worker_connections 8192;
}
http {
  access_log off;
  client_body_temp_path ${at.folder}/client_body;
  proxy_temp_path ${at.folder}/proxy;
  fastcgi_temp_path ${at.folder}/fastcgi;
  uwsgi_temp_path ${at.folder}/uwsgi;
  scgi_temp_path ${at.folder}/scgi;
  client_max_body_size 64m;
  client_body_buffer_size 512k;
  keepalive_requests 1000000000;
  tcp_nodelay on;
  upstream mock {
    server 127.0.0.1:${at.upstreamPort};
    keepalive 1024;
    keepalive_requests 1000000000;
  }
  server {
    listen 127.0.0.1:${at.port} backlog=4096;
    location / {
      proxy_pass http://mock;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_buffering off;
      proxy_request_buffering off;
      proxy_read_timeout 600s;
    }
  }
}
`;
}
