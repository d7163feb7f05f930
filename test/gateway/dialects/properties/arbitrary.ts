// Conversations and answers of every kind, drawn at random, for what must hold of all of them.

import fc from 'fast-check';
import type {
  Ask,
  Conversation,
  FinishReason,
  ModelAnswer,
  Part,
  Tool,
  Turn,
} from '../../../../gateway/dialects/conversation.ts';
import type { StreamPart } from '../../../../gateway/dialects/stream-part.ts';

/** Text with what is hard to carry: line ends, quotes, control characters, other scripts, surrogate pairs. */
const someText = fc
  .array(
    fc.oneof(
      fc.string({ minLength: 1, maxLength: 6 }),
      fc.constantFrom(
        '\n',
        '\r\n',
        '\u2028',
        '"',
        '\\',
        'data: ',
        '[DONE]',
        'é',
        '漢字',
        '🙂',
        '\u0000',
        ' x',
        '\ufeff',
      ),
    ),
    { minLength: 1, maxLength: 5 },
  )
  .map((pieces) => `a${pieces.join('')}z`);

const jsonArguments = fc
  .dictionary(fc.stringMatching(/^[a-z]{1,6}$/), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 3 })
  .map((value) => JSON.stringify(value));

const toolNames = ['get_weather', 'search', 'apply_patch'] as const;

export const someTools: fc.Arbitrary<readonly Tool[]> = fc.constant([
  {
    kind: 'function',
    name: 'get_weather',
    description: 'Weather.',
    schema: { type: 'object', properties: {} },
  },
  { kind: 'function', name: 'search', schema: { type: 'object', properties: { q: { type: 'string' } } } },
  { kind: 'custom', name: 'apply_patch', description: 'Edits files.' },
]);

/** Parts of an answer; neighbours of one kind do not occur, since no stream could tell them apart. */
const someAnswerParts: fc.Arbitrary<readonly Part[]> = fc
  .array(
    fc.oneof(
      someText.map((text): Part => ({ type: 'text', text })),
      someText.map((text): Part => ({ type: 'thinking', text })),
      fc
        .tuple(fc.constantFrom('get_weather', 'search'), jsonArguments)
        .map(([name, input]): Part => ({ type: 'tool-call', id: '', name, kind: 'function', input })),
      someText.map(
        (input): Part => ({ type: 'tool-call', id: '', name: 'apply_patch', kind: 'custom', input }),
      ),
    ),
    { maxLength: 5 },
  )
  .map((parts) =>
    parts
      .filter((part, at) => part.type === 'tool-call' || part.type !== parts[at - 1]?.type)
      .map((part, at) => (part.type === 'tool-call' ? { ...part, id: `call_${at}` } : part)),
  );

const someUsage = fc
  .record({
    input: fc.nat({ max: 100_000 }),
    cached: fc.nat({ max: 100 }),
    written: fc.nat({ max: 100 }),
    output: fc.nat({ max: 100_000 }),
    reasoning: fc.nat({ max: 100 }),
  })
  .map(({ input, cached, written, output, reasoning }) => ({
    input: input + cached + written,
    cachedInput: cached,
    cacheWrite: written,
    output: output + reasoning,
    reasoning,
  }));

export const someAnswer: fc.Arbitrary<ModelAnswer> = fc
  .record({
    parts: someAnswerParts,
    finish: fc.constantFrom<FinishReason>('stop', 'length', 'content-filter'),
    usage: someUsage,
  })
  .map(({ parts, finish, usage }) => {
    const hasCalls = parts.some((part) => part.type === 'tool-call');
    const choice = {
      index: 0,
      parts,
      finish: hasCalls && finish === 'stop' ? ('tool-calls' as const) : finish,
    };
    return { id: 'upstream-1', model: 'some-model', createdAt: 1_700_000_000, choices: [choice], usage };
  });

/** The answer as a decoder would give it, its texts cut into deltas of so many characters. */
export function streamed(answer: ModelAnswer, deltaLength: number): readonly StreamPart[] {
  const { id, model, createdAt, usage } = answer;
  const parts: StreamPart[] = [{ type: 'answer-start', id, model, createdAt }];
  for (const choice of answer.choices) {
    for (const [index, part] of choice.parts.entries()) {
      const at = { choice: choice.index, index };
      if (part.type === 'tool-call') {
        parts.push({
          type: 'part-start',
          ...at,
          head: { type: 'tool-call', id: part.id, name: part.name, kind: part.kind },
        });
      } else if (part.type === 'text' || part.type === 'thinking' || part.type === 'refusal') {
        parts.push({ type: 'part-start', ...at, head: { type: part.type } });
      } else throw new Error(`an answer holds no ${part.type}`);
      const letters = [...(part.type === 'tool-call' ? part.input : part.text)];
      for (let from = 0; from < letters.length; from += deltaLength) {
        parts.push({ type: 'part-delta', ...at, text: letters.slice(from, from + deltaLength).join('') });
      }
      parts.push({ type: 'part-end', ...at });
    }
    parts.push({ type: 'choice-end', choice: choice.index, finish: choice.finish });
  }
  if (usage) parts.push({ type: 'usage', usage });
  return parts;
}

/** Turns as a client could have them: calls are answered, users and assistants take turns. */
export const someConversation: fc.Arbitrary<Conversation> = fc
  .record({
    system: fc.array(someText, { maxLength: 2 }),
    rounds: fc.array(
      fc.record({
        said: someText,
        hasImage: fc.boolean(),
        answer: fc.option(someText, { nil: undefined }),
        calls: fc.array(fc.tuple(fc.constantFrom(...toolNames), jsonArguments, someText), { maxLength: 2 }),
      }),
      { minLength: 1, maxLength: 3 },
    ),
    tools: someTools,
    temperature: fc.option(fc.constantFrom(0, 0.5, 1), { nil: undefined }),
    stop: fc.option(fc.constant(['END']), { nil: undefined }),
    maxOutputTokens: fc.option(fc.integer({ min: 2048, max: 8000 }), { nil: undefined }),
    endUser: fc.option(fc.constantFrom('user-1', 'x'.repeat(60)), { nil: undefined }),
    choice: fc.constantFrom(undefined, 'none', 'auto', 'required', 'tool', 'subset'),
    parallel: fc.constantFrom(undefined, false),
    effort: fc.constantFrom(undefined, 'low', 'medium', 'high'),
    hasSchema: fc.boolean(),
  })
  .map(({ system, rounds, tools, choice, effort, hasSchema, parallel, ...drawn }): Conversation => {
    const asks: Ask[] = [];
    let calls = 0;
    const turns = rounds.flatMap(({ said, hasImage, answer, calls: called }): Turn[] => {
      const image: Part = {
        type: 'image',
        source: { kind: 'base64', mediaType: 'image/png', data: 'iVBORw0KGgo=' },
      };
      const user: Turn = {
        role: 'user',
        parts: [{ type: 'text', text: said }, ...(hasImage ? [image] : [])],
      };
      const made = called.map(([name, input, result]) => {
        const id = `call_${calls++}`;
        const kind = name === 'apply_patch' ? ('custom' as const) : ('function' as const);
        return {
          call: { type: 'tool-call', id, name, kind, input } as const,
          result: { type: 'tool-result', id, parts: [{ type: 'text', text: result } as const] } as const,
        };
      });
      const text: Part[] = answer === undefined ? [] : [{ type: 'text', text: answer }];
      if (made.length === 0 && text.length === 0) return [user];
      const assistant: Turn = { role: 'assistant', parts: [...text, ...made.map(({ call }) => call)] };
      return made.length === 0
        ? [user, assistant]
        : [user, assistant, { role: 'user', parts: made.map(({ result }) => result) }];
    });
    // Models refuse to go on with what they are said to have begun.
    turns.push({ role: 'user', parts: [{ type: 'text', text: 'go on' }] });
    const { temperature, stop, maxOutputTokens, endUser } = drawn;
    const hasReasoning =
      effort !== undefined && choice !== 'required' && choice !== 'tool' && temperature === undefined;
    return {
      asks,
      system: system.map((text) => ({ type: 'text', text })),
      turns,
      tools,
      ...(choice === undefined ? {} : { toolChoice: choiceOf(choice) }),
      // Who may not call at all does not learn how many calls to make.
      ...(parallel === undefined || choice === 'none' ? {} : { mayCallInParallel: parallel }),
      sampling: {
        ...(temperature === undefined ? {} : { temperature }),
        ...(stop === undefined ? {} : { stop }),
      },
      ...(maxOutputTokens === undefined ? {} : { maxOutputTokens }),
      ...(endUser === undefined ? {} : { endUser }),
      ...(hasReasoning && effort !== undefined ? { reasoning: { mode: 'adaptive' as const, effort } } : {}),
      choices: 1,
      output: hasSchema
        ? {
            type: 'json-schema',
            name: 'answer',
            schema: { type: 'object', properties: {}, additionalProperties: false },
          }
        : { type: 'text' },
    };
  });

function choiceOf(
  choice: 'none' | 'auto' | 'required' | 'tool' | 'subset',
): NonNullable<Conversation['toolChoice']> {
  if (choice === 'tool') return { type: 'tool', tool: { name: 'search' } };
  if (choice === 'subset') return { type: 'subset', mode: 'auto', tools: [{ name: 'search' }] };
  return { type: choice };
}
