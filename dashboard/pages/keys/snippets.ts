// What does one paste to use a key? For each client the address as that client wants it: with /v1, or without.

import type { DialectName } from '../words/choices.ts';

export interface Snippet {
  readonly id: string;
  readonly label: string;
  /** Dialect of the client. */
  readonly dialect: DialectName;
  /** Its heading, in one line. */
  readonly note: string;
  readonly text: string;
}

/** @param address of the gateway without `/v1` and without a slash at its end. */
export function snippetsFor(address: string, key: string, model: string): readonly Snippet[] {
  const origin = address.replace(/\/+$/, '').replace(/\/v1$/, '');
  const openAi = `${origin}/v1`;
  const json = (value: unknown) => JSON.stringify(value);
  return [
    {
      id: 'curl',
      label: 'curl',
      dialect: 'chat',
      note: 'Streams an answer to the terminal.',
      text: [
        `curl -N ${shell(`${openAi}/chat/completions`)} \\`,
        `  -H ${shell(`Authorization: Bearer ${key}`)} \\`,
        `  -H 'Content-Type: application/json' \\`,
        `  -d ${shell(json({ model, stream: true, messages: [{ role: 'user', content: 'Say hello.' }] }))}`,
      ].join('\n'),
    },
    {
      id: 'openai-python',
      label: 'OpenAI, Python',
      dialect: 'chat',
      note: 'pip install openai. The base URL ends in /v1.',
      text: [
        'from openai import OpenAI',
        '',
        `client = OpenAI(base_url=${json(openAi)}, api_key=${json(key)})`,
        'answer = client.chat.completions.create(',
        `    model=${json(model)},`,
        '    messages=[{"role": "user", "content": "Say hello."}],',
        ')',
        'print(answer.choices[0].message.content)',
      ].join('\n'),
    },
    {
      id: 'openai-node',
      label: 'OpenAI, Node',
      dialect: 'chat',
      note: 'npm install openai. The base URL ends in /v1.',
      text: [
        "import OpenAI from 'openai';",
        '',
        `const client = new OpenAI({ baseURL: ${json(openAi)}, apiKey: ${json(key)} });`,
        'const answer = await client.chat.completions.create({',
        `  model: ${json(model)},`,
        "  messages: [{ role: 'user', content: 'Say hello.' }],",
        '});',
        'console.log(answer.choices[0].message.content);',
      ].join('\n'),
    },
    {
      id: 'anthropic-python',
      label: 'Anthropic, Python',
      dialect: 'messages',
      note: 'pip install anthropic. The base URL has no /v1: the SDK adds it.',
      text: [
        'from anthropic import Anthropic',
        '',
        `client = Anthropic(base_url=${json(origin)}, auth_token=${json(key)})`,
        'answer = client.messages.create(',
        `    model=${json(model)},`,
        '    max_tokens=256,',
        '    messages=[{"role": "user", "content": "Say hello."}],',
        ')',
        'print(answer.content[0].text)',
      ].join('\n'),
    },
    {
      id: 'claude-code',
      label: 'Claude Code',
      dialect: 'messages',
      note: 'The address has no /v1: Claude Code adds it.',
      text: [
        `export ANTHROPIC_BASE_URL=${shell(origin)}`,
        `export ANTHROPIC_AUTH_TOKEN=${shell(key)}`,
        // Its background jobs ask for this one.
        `export ANTHROPIC_DEFAULT_HAIKU_MODEL=${shell(model)}`,
        `claude --model ${shell(model)}`,
      ].join('\n'),
    },
    {
      id: 'codex',
      label: 'Codex',
      dialect: 'responses',
      note: 'Codex does not read OPENAI_BASE_URL: the provider is named on its command line.',
      text: [
        `export PENSTOCK_KEY=${shell(key)}`,
        `codex -m ${shell(model)} -c model_provider=penstock \\`,
        `  -c ${shell(
          `model_providers.penstock={name="penstock",base_url=${json(openAi)},env_key="PENSTOCK_KEY",wire_api="responses"}`,
        )}`,
      ].join('\n'),
    },
  ];
}

/** In quotes where a shell would read it as something else. */
function shell(text: string): string {
  return /^[A-Za-z0-9_./:@%+=-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
