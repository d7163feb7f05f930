// How many tokens would this request be? Asked as clients of messages ask it, with a system prompt, tools and a choice among them.

import { type Rig, testKey } from '../rig.ts';

export async function askForCount(rig: Pick<Rig, 'url'>) {
  const response = await fetch(`${rig.url}/v1/messages/count_tokens`, {
    method: 'POST',
    headers: { 'x-api-key': testKey, 'content-type': 'application/json', 'anthropic-version': '2023-06-01' },
    body: JSON.stringify({
      model: 'm',
      system: 'Be brief.',
      messages: [{ role: 'user', content: 'three plain words' }],
      tools: [
        { name: 'look_up', description: 'Looks up.', input_schema: { type: 'object', properties: {} } },
      ],
      tool_choice: { type: 'any' },
    }),
  });
  const isEstimated = response.headers.get('x-penstock-estimated') === 'true';
  return { status: response.status, isEstimated, body: (await response.json()) as unknown };
}
