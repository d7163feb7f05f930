// What could be pasted for a first call? Two pieces for the terminal, and all of them for a file that only you can read.

import { writeFile } from 'node:fs/promises';
import type { Example } from './example.ts';

interface SnippetFacts extends Example {
  /** Base URL for Anthropic clients, which add /v1 themselves. */
  readonly url: string;
  /** Base URL for OpenAI clients. */
  readonly baseUrl: string;
}

/** The snippets of the terminal, at the left edge: Python would not run an indented snippet. */
export function describeFirstSnippets({ baseUrl, key, model }: SnippetFacts): string {
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
`;
}

/** @param path Written over at every start. */
export async function writeSnippets(path: string, facts: SnippetFacts): Promise<void> {
  const { baseUrl, key, model, offersMessages } = facts;
  const text = `${describeFirstSnippets(facts).trimStart()}
--- JavaScript, as a file .mjs (npm install openai) ---
import OpenAI from 'openai';
const client = new OpenAI({ baseURL: '${baseUrl}', apiKey: '${key}' });
const stream = await client.chat.completions.create({
  model: '${model}', stream: true, messages: [{ role: 'user', content: 'Hello' }] });
for await (const chunk of stream) process.stdout.write(chunk.choices[0]?.delta.content ?? '');
${offersMessages ? describeMessages(facts) : ''}`;
  await writeFile(path, text, { mode: 0o600 });
}

function describeMessages({ url, key, model }: SnippetFacts): string {
  return `
--- Python, Anthropic SDK (pip install anthropic) ---
from anthropic import Anthropic
client = Anthropic(base_url="${url}", api_key="${key}")
with client.messages.stream(
    model="${model}", max_tokens=1024, messages=[{"role": "user", "content": "Hello"}]) as stream:
    for text in stream.text_stream: print(text, end="", flush=True)

--- JavaScript, Anthropic SDK, as a file .mjs (npm install @anthropic-ai/sdk) ---
import Anthropic from '@anthropic-ai/sdk';
const client = new Anthropic({ baseURL: '${url}', apiKey: '${key}' });
const stream = client.messages.stream({
  model: '${model}', max_tokens: 1024, messages: [{ role: 'user', content: 'Hello' }] });
await stream.on('text', (text) => process.stdout.write(text)).done();
`;
}
