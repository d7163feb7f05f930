// What did an SDK ask and get, byte for byte? A fetch that looks on: it counts the requests, and holds every answer
// of the OpenAI routes against the published shapes.

import { checkShape } from './shapes.ts';

export interface ClientWatch {
  readonly fetch: typeof fetch;
  /** Requests since the last look: retries of the SDK are among them. */
  newRequests(): number;
  /** Waits for all answers, and tells what was wrong with their shapes since the last look. */
  newFaults(): Promise<readonly string[]>;
}

export function watchClient(): ClientWatch {
  let requests = 0;
  let checks: Promise<readonly string[]>[] = [];
  return {
    async fetch(input, init) {
      requests += 1;
      const response = await fetch(input, init);
      const watched = readAlong(response.body);
      const { pathname } = new URL(response.url);
      const seen = {
        path: pathname,
        status: response.status,
        contentType: response.headers.get('content-type') ?? '',
        isNative: isNative(pathname, init?.body),
      };
      checks.push(watched.text.then((text) => checkShape({ ...seen, text })));
      const answer = new Response(watched.body, response);
      Object.defineProperty(answer, 'url', { value: response.url });
      return answer;
    },
    newRequests() {
      const count = requests;
      requests = 0;
      return count;
    },
    async newFaults() {
      const pending = checks;
      checks = [];
      return (await Promise.all(pending)).flat();
    },
  };
}

const routes: Readonly<Record<string, RegExp>> = {
  '/v1/chat/completions': /"model":"(on-)?(chat|azure-chat|bedrock-chat|vertex-openapi)\b/,
  '/v1/completions': /"model":"(on-)?completions\b/,
  '/v1/responses': /"model":"(on-)?((azure|bedrock)-)?responses\b/,
};

/** Whether the model, by its name, is on an upstream that speaks as the client does. */
function isNative(path: string, body: unknown): boolean {
  return typeof body === 'string' && routes[path]?.test(body) === true;
}

/** The same body, and its text as far as the SDK read it: what it broke off has no end. */
function readAlong(body: ReadableStream<Uint8Array> | null) {
  if (body === null) return { body: null, text: Promise.resolve('') };
  const whole = Promise.withResolvers<string>();
  const decoder = new TextDecoder();
  const reader = body.getReader();
  let text = '';
  const end = (): void => whole.resolve(text + decoder.decode());
  return {
    text: whole.promise,
    body: new ReadableStream<Uint8Array>({
      async pull(controller) {
        try {
          const { done, value } = await reader.read();
          if (done) {
            end();
            return controller.close();
          }
          text += decoder.decode(value, { stream: true });
          controller.enqueue(value);
        } catch (error) {
          end();
          controller.error(error);
        }
      },
      async cancel(reason) {
        end();
        await reader.cancel(reason);
      },
    }),
  };
}
