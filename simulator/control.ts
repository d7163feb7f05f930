// How are the books of a simulator process read, and its script written? Over HTTP, under /_simulator/.

import type { IncomingMessage, ServerResponse } from 'node:http';
import { isBag } from './checks.ts';
import type { Ledger } from './counts.ts';
import { DirectiveError } from './directives.ts';
import { receive } from './receive.ts';
import type { Scripts } from './scripts.ts';

type Books = { ledger: Ledger; scripts: Scripts; reset(): void };

/** Answers `GET /_simulator/counts` and `calls`, `POST /_simulator/reset` and `script`. */
export async function serveControl(
  books: Books,
  endpoint: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const received = await receive(request, 1024 * 1024);
  const send = (status: number, body: unknown) => {
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(JSON.stringify(body));
  };
  switch (`${request.method} ${endpoint}`) {
    case 'GET /_simulator/counts':
      return send(200, books.ledger.counts());
    case 'GET /_simulator/calls':
      return send(200, books.ledger.calls());
    case 'POST /_simulator/reset':
      books.reset();
      return send(200, {});
    case 'POST /_simulator/script': {
      const problem = installFrom(books, received.kind === 'json' ? received.value : undefined);
      return problem === undefined ? send(200, {}) : send(400, { error: { message: problem } });
    }
    default:
      return send(404, {
        error: { message: `simulator: there is nothing at ${request.method} ${endpoint}` },
      });
  }
}

function installFrom(books: Books, body: unknown): string | undefined {
  if (!isBag(body) || typeof body.target !== 'string')
    return 'send {"target": "<model>", "directives": "…" | ["…"] | null}';
  const { target, directives } = body;
  try {
    if (directives === null || typeof directives === 'string') books.scripts.install(target, directives);
    else if (Array.isArray(directives)) books.scripts.install(target, directives.map(String));
    else return 'directives must be a string, a list of strings, or null';
    return undefined;
  } catch (error) {
    if (error instanceof DirectiveError) return error.message;
    throw error;
  }
}
