// What does the person at the terminal need to see? What runs, and something to paste.

import { countModels } from './count-models.ts';
import type { Example } from './example.ts';

interface WelcomeFacts {
  /** Base URL for Anthropic clients, which put /v1 behind it themselves. */
  readonly url: string;
  /** Base URL for OpenAI clients. */
  readonly baseUrl: string;
  readonly metricsUrl: string;
  readonly simulatorUrl: string;
  readonly manifestsFolder: string;
  /** What opens it, once; or why there is none. */
  readonly dashboard: { readonly link: string } | { readonly missing: string };
  /** In the order in which they are worth showing. */
  readonly models: readonly string[];
  /** A key and a model that it may call. */
  readonly example: Example | undefined;
}

const modelsShownMax = 8;

export function describeWelcome(facts: WelcomeFacts): string {
  const { url, baseUrl, models, example } = facts;
  const shown = models.slice(0, modelsShownMax).join(', ');
  return `
Penstock serves ${countModels(models.length)} on ${baseUrl}
  models     ${shown}${models.length > modelsShownMax ? ', …' : ''}
  key        ${example?.key ?? 'none that can call a model yet'}
  manifests  ${facts.manifestsFolder} (edit a file: it is live at once)
  simulator  ${facts.simulatorUrl}
  metrics    ${facts.metricsUrl}/metrics
  dashboard  ${describeDashboard(facts.dashboard)}
${example === undefined ? needed : describeSnippets(baseUrl, example) + describeMessages(url, example)}
Ctrl-C ends it.
`;
}

function describeDashboard(dashboard: WelcomeFacts['dashboard']): string {
  if ('missing' in dashboard) return `none: ${dashboard.missing}`;
  return `${dashboard.link} (once; open it again, and the next one is printed)`;
}

const needed = `
To call something, the manifests need a Provider, a ModelRoute and an ApiKey that may call it.
`;

/** At the left edge: Python would not run an indented piece. */
function describeSnippets(baseUrl: string, { key, model }: Example): string {
  return `
--- curl ---
curl -N ${baseUrl}/chat/completions \\
  -H 'Authorization: Bearer ${key}' -H 'Content-Type: application/json' \\
  -d '{"model":"${model}","stream":true,"messages":[{"role":"user","content":"Hello"}]}'

--- Python (pip install openai) ---
from openai import OpenAI
client = OpenAI(base_url="${baseUrl}", api_key="${key}")
stream = client.chat.completions.create(
    model="${model}", stream=True, messages=[{"role": "user", "content": "Hello"}])
for chunk in stream:
    print(chunk.choices[0].delta.content or "", end="", flush=True)

--- JavaScript (npm install openai) ---
import OpenAI from 'openai';
const client = new OpenAI({ baseURL: '${baseUrl}', apiKey: '${key}' });
const stream = await client.chat.completions.create({
  model: '${model}', stream: true, messages: [{ role: 'user', content: 'Hello' }] });
for await (const chunk of stream) process.stdout.write(chunk.choices[0]?.delta.content ?? '');
`;
}

function describeMessages(url: string, { key, model, offersMessages }: Example): string {
  if (!offersMessages) return '';
  return `
--- Python, Anthropic SDK (pip install anthropic) ---
from anthropic import Anthropic
client = Anthropic(base_url="${url}", api_key="${key}")
with client.messages.stream(
    model="${model}", max_tokens=1024, messages=[{"role": "user", "content": "Hello"}]) as stream:
    for text in stream.text_stream: print(text, end="", flush=True)

--- JavaScript, Anthropic SDK (npm install @anthropic-ai/sdk) ---
import Anthropic from '@anthropic-ai/sdk';
const client = new Anthropic({ baseURL: '${url}', apiKey: '${key}' });
const stream = client.messages.stream({
  model: '${model}', max_tokens: 1024, messages: [{ role: 'user', content: 'Hello' }] });
await stream.on('text', (text) => process.stdout.write(text)).done();
`;
}
