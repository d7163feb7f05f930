// How does a program of each SDK go on with its tools? A turn asks with the whole conversation so far, and runs both tools that are called.

import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { type Rig, testKey } from '../gateway/rig.ts';
import { hello, runTool, toolkit } from './samples.ts';

/** One turn: asks with the whole conversation so far, and adds the answer and what the tools say to it. */
export type TakeTurn = (isStream: boolean) => Promise<void>;

export const conversations: Readonly<
  Record<'chat' | 'responses' | 'messages', (rig: Rig, model?: string) => TakeTurn>
> = {
  chat(rig, model = 'm') {
    const openai = new OpenAI({ baseURL: rig.baseUrl, apiKey: testKey, maxRetries: 0 });
    const tools: OpenAI.ChatCompletionTool[] = toolkit.map(({ name, description, parameters }) => ({
      type: 'function',
      function: { name, description, parameters },
    }));
    const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: hello }];
    return async () => {
      const answer = await openai.chat.completions.create({
        model,
        messages,
        tools,
        reasoning_effort: 'low',
      });
      const message = answer.choices[0]?.message;
      const calls = message?.tool_calls?.flatMap((call) => (call.type === 'function' ? [call] : [])) ?? [];
      if (message === undefined || calls.length !== 2)
        throw new Error(`two calls: ${JSON.stringify(answer)}`);
      messages.push(message);
      for (const { id, function: called } of calls) {
        const content = runTool(called.name, JSON.parse(called.arguments));
        messages.push({ role: 'tool', tool_call_id: id, content });
      }
    };
  },
  responses(rig, model = 'm') {
    const openai = new OpenAI({ baseURL: rig.baseUrl, apiKey: testKey, maxRetries: 0 });
    const tools: OpenAI.Responses.FunctionTool[] = toolkit.map(({ name, description, parameters }) => ({
      type: 'function',
      name,
      description,
      parameters,
      strict: true,
    }));
    const input: OpenAI.Responses.ResponseInputItem[] = [{ role: 'user', content: hello }];
    return async (isStream) => {
      const body = {
        model,
        input,
        tools,
        store: false,
        reasoning: { effort: 'low' as const, summary: 'auto' as const },
        include: ['reasoning.encrypted_content' as const],
      };
      const answer: OpenAI.Responses.Response = isStream
        ? await openai.responses.stream(body).finalResponse()
        : await openai.responses.create(body);
      const calls = answer.output.flatMap((item) => (item.type === 'function_call' ? [item] : []));
      if (calls.length !== 2) throw new Error(`two calls: ${JSON.stringify(answer)}`);
      input.push(...(answer.output as OpenAI.Responses.ResponseInputItem[]));
      for (const { call_id, name, arguments: text } of calls) {
        input.push({ type: 'function_call_output', call_id, output: runTool(name, JSON.parse(text)) });
      }
    };
  },
  messages: (rig, model) => converseInMessages(rig, { type: 'adaptive', display: 'summarized' }, model),
};

export function converseInMessages(rig: Rig, thinking: Anthropic.ThinkingConfigParam, model = 'm'): TakeTurn {
  const anthropic = new Anthropic({ baseURL: rig.url, apiKey: testKey, maxRetries: 0 });
  const tools: Anthropic.Tool[] = toolkit.map(({ name, description, parameters }) => ({
    name,
    description,
    input_schema: parameters,
  }));
  const messages: Anthropic.MessageParam[] = [{ role: 'user', content: hello }];
  return async (isStream) => {
    const body = {
      model,
      max_tokens: 4_000,
      messages,
      tools,
      thinking,
    };
    const answer = isStream
      ? await anthropic.messages.stream(body).finalMessage()
      : await anthropic.messages.create(body);
    const calls = answer.content.flatMap((block) => (block.type === 'tool_use' ? [block] : []));
    if (calls.length !== 2) throw new Error(`two calls: ${JSON.stringify(answer)}`);
    messages.push({ role: 'assistant', content: answer.content as Anthropic.ContentBlockParam[] });
    const results = calls.map(({ id, name, input }) => ({
      type: 'tool_result' as const,
      tool_use_id: id,
      content: runTool(name, input),
    }));
    messages.push({ role: 'user', content: results });
  };
}
