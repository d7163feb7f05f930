// Where do the pages come from? Files that were built; every other address is the one page, which reads the address itself.

import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import fastifyStatic from '@fastify/static';
import type { FastifyInstance } from 'fastify';
import { notFound } from '../errors.ts';

const yearSeconds = 31_536_000;

/** @throws where nothing has been built there. */
export async function addPages(app: FastifyInstance, folder: string): Promise<void> {
  const root = resolve(folder);
  if (!existsSync(join(root, 'index.html')))
    throw new Error(`${folder}/index.html is not there; build the pages first: npm run build`);
  await app.register(fastifyStatic, {
    root,
    // The page itself reports a missing view, so an address without a file gets the page.
    wildcard: false,
    index: false,
    cacheControl: false,
    setHeaders(reply, path) {
      // Below assets/ a name says what is in the file. The page itself is stored nowhere, not for the Back button either: it may show a key.
      const isKept = path.startsWith(join(root, 'assets'));
      reply.header('cache-control', isKept ? `public, max-age=${yearSeconds}, immutable` : 'no-store');
    },
  });
  app.get('/*', async (request, reply) => {
    const [path = ''] = request.url.split('?');
    if (path === '/api' || path.startsWith('/api/') || isOfFile(path)) throw notFound();
    return reply.sendFile('index.html');
  });
}

/** The address of a missing file; a key's name may contain a dot too. */
function isOfFile(path: string): boolean {
  return path.startsWith('/assets/') || /^\/[^/.]*\.[^/]*$/.test(path);
}
