// What does the person at the terminal need to see? What runs, and something to paste.

export interface WelcomeFacts {
  readonly baseUrl: string;
  readonly metricsUrl: string;
  readonly manifestsFolder: string;
  readonly key: string | undefined;
  readonly models: readonly string[];
}

export function describeWelcome({ baseUrl, metricsUrl, manifestsFolder, key, models }: WelcomeFacts): string {
  const model = models[0] ?? 'no-model-yet';
  const shownKey = key ?? '<a key: add an ApiKey to the manifests>';
  return `
Penstock serves ${models.length} models on ${baseUrl}
  models     ${models.slice(0, 8).join(', ')}${models.length > 8 ? ', …' : ''}
  key        ${shownKey}
  manifests  ${manifestsFolder} (edit a file: it is live at once)
  metrics    ${metricsUrl}/metrics

curl
  curl -N ${baseUrl}/chat/completions \\
    -H 'Authorization: Bearer ${shownKey}' -H 'Content-Type: application/json' \\
    -d '{"model":"${model}","stream":true,"messages":[{"role":"user","content":"Hello"}]}'

OpenAI SDK, Python
  from openai import OpenAI
  client = OpenAI(base_url="${baseUrl}", api_key="${shownKey}")
  stream = client.chat.completions.create(
      model="${model}", stream=True, messages=[{"role": "user", "content": "Hello"}])
  for chunk in stream:
      print(chunk.choices[0].delta.content or "", end="", flush=True)

OpenAI SDK, JavaScript
  import OpenAI from 'openai';
  const client = new OpenAI({ baseURL: '${baseUrl}', apiKey: '${shownKey}' });
  const stream = await client.chat.completions.create({
    model: '${model}', stream: true, messages: [{ role: 'user', content: 'Hello' }] });
  for await (const chunk of stream) process.stdout.write(chunk.choices[0]?.delta.content ?? '');
`;
}
