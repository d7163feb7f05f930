// A cloud denies one model to the identity of a Provider. Are its other models served all the same, at once, to everybody?

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  EXCHANGE_PATH,
  type ExchangeResponse,
  exchangeResponseSchema,
} from '../../../core/contract/exchange.ts';
import type { UpstreamDialectName } from '../../../core/contract/routing-table.ts';
import type { ReadableJournal } from '../../../gateway/meter/journal.ts';
import { ask, errorOf } from '../../flow/ask.ts';
import { type Rig, type RigTarget, startRig, tableOf } from '../rig.ts';

interface Denial {
  readonly type: string;
  readonly dialect: UpstreamDialectName;
  readonly auth: { readonly header: string; readonly prefix: string };
  readonly settings?: Readonly<Record<string, string>>;
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: object;
}

const bearer = { header: 'Authorization', prefix: 'Bearer ' };
const googleKey = { header: 'x-goog-api-key', prefix: '' };
const notAuthorized =
  'User: arn:aws:sts::123456789012:assumed-role/models/penstock is not authorized to perform: bedrock:InvokeModel on ' +
  'resource: arn:aws:bedrock:us-east-1::foundation-model/denied because no identity-based policy allows the action';
const lacksAction =
  'The principal `0f0f0f0f-0000-4000-8000-000000000000` lacks the required data action ' +
  '`Microsoft.CognitiveServices/accounts/OpenAI/deployments/chat/completions/action` to perform the operation.';
const google = (message: string, reason: string) => ({
  error: {
    code: 403,
    message,
    status: 'PERMISSION_DENIED',
    details: [{ '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason, domain: 'googleapis.com' }],
  },
});
const atVertex = google(
  "Permission 'aiplatform.endpoints.predict' denied on resource '//aiplatform.googleapis.com/projects/p/locations/global/publishers/x/models/denied' (or it may not exist).",
  'IAM_PERMISSION_DENIED',
);

const denials: Readonly<Record<string, Denial>> = {
  'Bedrock, Converse': {
    type: 'Bedrock',
    dialect: 'bedrock-converse',
    auth: bearer,
    status: 403,
    headers: { 'x-amzn-errortype': 'AccessDeniedException' },
    body: { message: "You don't have access to the model with the specified model ID." },
  },
  'Bedrock, Converse by its policy': {
    type: 'Bedrock',
    dialect: 'bedrock-converse',
    auth: bearer,
    status: 403,
    headers: { 'x-amzn-errortype': 'AccessDeniedException:http://internal.amazon.com/coral/' },
    body: { Message: notAuthorized },
  },
  'Bedrock, messages': {
    type: 'Bedrock',
    dialect: 'anthropic-messages',
    auth: bearer,
    status: 403,
    body: { type: 'error', error: { type: 'permission_error', message: notAuthorized } },
  },
  'Bedrock, chat with the status of a bad key': {
    type: 'Bedrock',
    dialect: 'openai-chat',
    auth: bearer,
    status: 401,
    body: { error: { type: 'authentication_error', code: 'access_denied', message: notAuthorized } },
  },
  'Azure, a deployment': {
    type: 'AzureOpenAI',
    dialect: 'openai-chat',
    auth: { header: 'api-key', prefix: '' },
    status: 401,
    body: { error: { code: 'PermissionDenied', message: lacksAction } },
  },
  'Foundry, Claude': {
    type: 'AzureOpenAI',
    dialect: 'anthropic-messages',
    auth: { header: 'api-key', prefix: '' },
    status: 401,
    body: { error: { code: 'PermissionDenied', message: lacksAction } },
  },
  'Vertex AI, Gemini': {
    type: 'VertexAI',
    dialect: 'google-generate-content',
    auth: googleKey,
    settings: { project: 'my-project' },
    status: 403,
    body: atVertex,
  },
  'Vertex AI, Claude': {
    type: 'VertexAI',
    dialect: 'anthropic-messages',
    auth: googleKey,
    settings: { project: 'my-project' },
    status: 403,
    body: [atVertex],
  },
  'Gemini API': {
    type: 'Gemini',
    dialect: 'google-generate-content',
    auth: googleKey,
    status: 403,
    body: google('The caller does not have permission', 'IAM_PERMISSION_DENIED'),
  },
};

const answers: Readonly<Partial<Record<UpstreamDialectName, object>>> = {
  'openai-chat': {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1,
    model: 'served',
    choices: [{ index: 0, message: { role: 'assistant', content: 'yes' }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
  },
  'anthropic-messages': {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'served',
    content: [{ type: 'text', text: 'yes' }],
    stop_reason: 'end_turn',
    stop_sequence: null,
    usage: { input_tokens: 1, output_tokens: 1 },
  },
  'bedrock-converse': {
    output: { message: { role: 'assistant', content: [{ text: 'yes' }] } },
    stopReason: 'end_turn',
    usage: { inputTokens: 1, outputTokens: 1, totalTokens: 2 },
    metrics: { latencyMs: 1 },
  },
  'google-generate-content': {
    candidates: [{ content: { role: 'model', parts: [{ text: 'yes' }] }, finishReason: 'STOP', index: 0 }],
    usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 },
  },
};

let denial: Pick<Denial, 'status' | 'headers' | 'body' | 'dialect'>;
let calls = 0;
const server = createServer((incoming, response) => {
  const parts: Buffer[] = [];
  incoming.on('data', (part: Buffer) => parts.push(part));
  incoming.on('end', () => {
    calls++;
    const isDenied = `${incoming.url} ${Buffer.concat(parts)}`.includes('denied-model');
    const { status, headers, body, dialect } = denial;
    response.writeHead(isDenied ? status : 200, {
      'content-type': 'application/json',
      ...(isDenied ? headers : {}),
    });
    response.end(JSON.stringify(isDenied ? body : answers[dialect]));
  });
});
let baseUrl: string;

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

const journal: ReadableJournal = {
  begin: () => {},
  append: () => {},
  flush: async () => {},
  close: async () => {},
  read: async () => undefined,
  onWritten: () => () => {},
};

/** As the operator is answered. */
async function reported({ gateway }: Rig): Promise<ExchangeResponse> {
  const answer = await fetch(`${gateway.internalUrl}${EXCHANGE_PATH}`, {
    method: 'POST',
    headers: { authorization: 'Bearer exchange-token', 'content-type': 'application/json' },
    body: JSON.stringify({ waitMs: 0, readyPods: 1 }),
  });
  return exchangeResponseSchema.parse(await answer.json());
}

/** Two routes to models of one Provider with one credential. */
async function startTwo({ type, dialect, auth, settings }: Denial) {
  const target = (upstreamModel: string): RigTarget => ({
    baseUrl,
    provider: 'platform/cloud',
    upstreamModel,
    dialects: [dialect],
    keys: { main: 'key-of-the-account-0123456789' },
    providerEntry: { type, dialects: [dialect], auth, ...(settings && { settings }) },
  });
  const table = tableOf([target('served-model')]);
  const other = tableOf([target('denied-model')], { id: 'team/denied', model: 'denied' });
  const exchange = { port: 0, journal, token: () => 'exchange-token' };
  return await startRig({ ...table, routes: [...table.routes, ...other.routes] }, { exchange });
}

test.each(Object.keys(denials))('%s: a model without permission disables no other model', async (name) => {
  denial = denials[name] as Denial;
  const rig = await startTwo(denials[name] as Denial);
  try {
    for (let round = 0; round < 3; round++) {
      const before = calls;
      const refused = await ask(rig, { more: { model: 'denied' } });
      expect([refused.status, errorOf(refused)?.code]).toEqual([502, 'upstream_auth_failed']);
      expect((await ask(rig)).status).toBe(200);
      // Both were asked, and neither in vain: what is denied may be allowed a second later.
      expect(calls - before).toBe(2);
    }
    const { health, targets } = await reported(rig);
    expect(health).toEqual([{ provider: 'platform/cloud', key: 'main', state: 'working' }]);
    expect(targets).toMatchObject([
      {
        upstreamModel: 'denied-model',
        state: 'failing',
        calls: 3,
        failed: 3,
        cause: `status_${denial.status}`,
      },
      { upstreamModel: 'served-model', state: 'answering', calls: 3, failed: 0 },
    ]);
  } finally {
    await rig.close();
  }
});

const refusals: Readonly<Record<string, Denial>> = {
  'that is wrong': {
    ...(denials['Azure, a deployment'] as Denial),
    body: {
      error: { code: '401', message: 'Access denied due to invalid subscription key or wrong API endpoint.' },
    },
  },
  'that may not be used any more': {
    ...(denials['Bedrock, Converse by its policy'] as Denial),
    body: { Message: notAuthorized.replace('InvokeModel', 'CallWithBearerToken') },
  },
};

test.each(Object.keys(refusals))('a key %s is not tried for another model', async (name) => {
  denial = refusals[name] as Denial;
  const rig = await startTwo(refusals[name] as Denial);
  try {
    expect((await ask(rig, { more: { model: 'denied' } })).status).toBe(502);
    const before = calls;
    expect((await ask(rig)).status).toBeGreaterThanOrEqual(500);
    expect(calls).toBe(before);
  } finally {
    await rig.close();
  }
});
