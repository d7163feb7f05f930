// What can an upstream put into the stream of its own dialect? Random scraps of event streams, cut at random places: whatever
// comes, what goes on has the form that this dialect allows, and what is counted can be billed.

import { usageSchema } from '../../core/contract/ledger-record.ts';
import type { DialectName } from '../../core/contract/routing-table.ts';
import { findDialect } from '../../gateway/dialects/registry.ts';
import {
  blockStop,
  messageDelta,
  messageStart,
  messageStop,
  textDelta,
  textStart,
} from '../gateway/dialects/support/messages-events.ts';
import { cutAt, readPieces } from '../gateway/dialects/support/read-pieces.ts';
import { wholeResponse } from '../gateway/dialects/support/response-events.ts';
import { createRandom, pick, type Random } from './random.ts';

/** One line of what looks like an object, blanks around it. */
const data = 'data:[ \\t\\v\\f]*\\{[^\\r\\n\\0]*\\}[ \\t\\v\\f]*\\n\\n';
const unnamed = new RegExp(`^(?:${data})*$`);
const messages = new RegExp(`^(?:event: ?(?:(?:message|content_block)_[a-z_]+|ping)\\n${data})*$`);
const responses = new RegExp(`^(?:event: ?response(?:\\.[a-z0-9_]+)+\\n${data})*$`);

const chunk = (delta: object, more: object = {}): string =>
  `data: ${JSON.stringify({ id: 'c', choices: [{ index: 0, delta, text: 'a', finish_reason: null }], ...more })}\n\n`;
const finish = 'data: {"choices":[{"index":0,"delta":{},"text":"","finish_reason":"stop"}]}\n\n';
const counted = (usage: string): string => `data: {"choices":[],"usage":${usage}}\n\n`;

const counts = [
  '-1',
  '1e300',
  '0.5',
  '"7"',
  '9007199254740991',
  '9007199254740993',
  'null',
  '{}',
  '3',
  '8',
] as const;

interface Hostile {
  readonly dialect: DialectName;
  readonly grammar: RegExp;
  /** Whole events and the beginning of an answer, which scraps are mixed with. */
  readonly scraps: readonly [string, ...string[]];
}

const named = (name: string, data: string): string => `event: ${name}\ndata: ${data}\n\n`;

const everywhere = [
  ...[
    'data: ',
    'data:',
    'event: ',
    'event:x',
    '\n',
    '\n\n',
    '\r',
    '\r\n',
    '\r\n\r\n',
    ': comment\n',
    '\uFEFF',
  ],
  ...[
    'id: 7\n',
    'id: \0\n',
    'retry: 1\n',
    '[DONE]',
    'data: [DONE]\n\n',
    '\0',
    '\u2028',
    '\u0085',
    '\v',
    '\f',
  ],
  ...[
    '{',
    '}',
    '"',
    '{"error":{"message":"x"}}',
    'data: {"a":1}\n',
    '<script>',
    'HTTP/1.1 200 OK\r\n',
    '0\r\n\r\n',
  ],
  named('error', '{"error":{"type":"x","message":"y"}}'),
  named('penstock', '{}'),
  named('message_stop', '{}'),
  named('response.completed', '{"type":"response.completed"}'),
  named('a\tb', '{"type":"a b"}'),
  'data: {"type":"x\\ndata: y"}\n\n',
] as const;

const hostile: readonly Hostile[] = [
  ...(['openai-chat', 'openai-completions'] as const).map(
    (dialect): Hostile => ({
      dialect,
      grammar: unnamed,
      scraps: [
        chunk({ role: 'assistant' }),
        chunk({ content: 'a' }),
        chunk({ content: 'b' }, { usage: null }),
        chunk({ content: '\r\n\r\ndata: x' }),
        finish,
        ...counts.map((count) => counted(`{"prompt_tokens":${count},"completion_tokens":${count}}`)),
        ...everywhere,
      ],
    }),
  ),
  {
    dialect: 'anthropic-messages',
    grammar: messages,
    scraps: [
      messageStart,
      messageStart + textStart + textDelta('a'),
      textDelta('b'),
      blockStop() + messageDelta('end_turn') + messageStop,
      ...counts.map((count) =>
        named('message_delta', `{"delta":{},"usage":{"input_tokens":${count},"output_tokens":${count}}}`),
      ),
      ...everywhere,
    ],
  },
  {
    dialect: 'openai-responses',
    grammar: responses,
    scraps: [
      wholeResponse.slice(0, wholeResponse.indexOf('event: response.completed')),
      named('response.output_text.delta', '{"type":"response.output_text.delta","delta":"a"}'),
      ...counts.map((count) =>
        named(
          'response.completed',
          `{"response":{"usage":{"input_tokens":${count},"output_tokens":${count}}}}`,
        ),
      ),
      ...everywhere,
    ],
  },
];

export interface HostileRun {
  /** Streams in which something went on. */
  readonly relayed: number;
  /** Streams that were refused, or ended in a fault. */
  readonly refused: number;
  /** What broke the grammar or the counts: the bytes that came, to be seen again. */
  readonly broken: readonly string[];
}

/** @param runs streams of each dialect. */
export function runHostileStreams(runs: number, seed: number): HostileRun {
  const random = createRandom(seed);
  let relayed = 0;
  let refused = 0;
  const broken: string[] = [];
  for (const { dialect, grammar, scraps } of hostile) {
    const { same } = findDialect(dialect);
    for (let run = 0; run < runs; run++) {
      const sent = Buffer.from(textOf(scraps, random));
      const pieces = cutAt(sent, [random(sent.length + 1), random(sent.length + 1), random(sent.length + 1)]);
      const facts = { model: 'm', isStream: true, wantsUsage: random(2) === 0, choices: 1 };
      const reading = readPieces(same.relayStream(facts), pieces);
      const reported = Buffer.concat(reading.out.filter((bytes) => bytes !== undefined)).toString('utf8');
      const { usage, fault } = reading.facts;
      const isCounted = usage === undefined || usageSchema.safeParse(usage).success;
      if (!grammar.test(reported) || !isCounted) broken.push(`${dialect} ${JSON.stringify(sent.toString())}`);
      if (reported !== '') relayed++;
      if (fault !== undefined) refused++;
    }
  }
  return { relayed, refused, broken };
}

function textOf(scraps: Hostile['scraps'], random: Random): string {
  const begins = random(2) === 0 ? (scraps[0] ?? '') : '';
  return begins + Array.from({ length: random(14) }, () => pick(random, scraps)).join('');
}
