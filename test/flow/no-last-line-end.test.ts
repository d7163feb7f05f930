// An upstream's last event has come whole, but for the ends of its lines, and then its body ends cleanly: is the answer whole?
//
// The standard drops such an event (WHATWG HTML, section 9.2.6); servers that forget the last blank line exist, and what they meant to
// say is all there. Only where the event itself is cut, and decides, is the answer a broken one.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { DialectName } from '../../core/contract/routing-table.ts';
import { root } from '../architecture/project.ts';
import type { Behaviour } from '../support/wall.ts';
import { ask, type Endpoint, endsWell, lineOf, textOf } from './ask.ts';
import { inHouse } from './house.ts';

/** As the provider sends it. */
function streamOf(dialect: DialectName): string {
  return readFileSync(join(root, 'test/fixtures/wire', dialect, 'text.chunks.txt'), 'utf8').trimEnd();
}

const withoutReason = (text: string): string =>
  text.replaceAll(/"finish_reason": ?"\w+"/g, '"finish_reason":null');

interface Row {
  readonly dialect: DialectName;
  readonly endpoint: Endpoint;
  readonly stream: string;
  /** What is left when the last byte of its last event has not come. */
  readonly cutBy1: 'whole' | 'broken';
}

const rows: readonly (readonly [name: string, row: Row])[] = [
  ...(['openai-chat', 'openai-completions'] as const).flatMap((dialect): [string, Row][] => {
    const endpoint = dialect === 'openai-chat' ? 'chat' : 'completions';
    const stream = streamOf(dialect);
    return [
      // The finish reason has said that nothing is missing.
      [dialect, { dialect, endpoint, stream, cutBy1: 'whole' }],
      [
        `${dialect}, where nothing but [DONE] says that it is over`,
        { dialect, endpoint, stream: withoutReason(stream), cutBy1: 'broken' },
      ],
      [
        `${dialect}, which ends with its finish reason`,
        {
          dialect,
          endpoint,
          stream: stream.slice(0, stream.indexOf('\n', stream.search(/"finish_reason": ?"/))),
          cutBy1: 'broken',
        },
      ],
    ];
  }),
  [
    'openai-responses',
    {
      dialect: 'openai-responses',
      endpoint: 'responses',
      stream: streamOf('openai-responses'),
      cutBy1: 'broken',
    },
  ],
  [
    'anthropic-messages',
    {
      dialect: 'anthropic-messages',
      endpoint: 'messages',
      stream: streamOf('anthropic-messages'),
      cutBy1: 'whole',
    },
  ],
];

const framings = ['content-length', 'chunked', 'close'] as const;

function answerWith(body: string, framing: (typeof framings)[number]): Behaviour {
  const size = Buffer.byteLength(body);
  const head = (more: string): string => `HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n${more}\r\n`;
  switch (framing) {
    case 'content-length':
      return {
        type: 'raw',
        bytes: `${head(`content-length: ${size}\r\n`)}${body}`,
        followedBy: 'keep-alive',
      };
    case 'chunked': {
      const chunks = `${size.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
      return {
        type: 'raw',
        bytes: head('transfer-encoding: chunked\r\n') + chunks,
        followedBy: 'keep-alive',
      };
    }
    case 'close':
      return { type: 'raw', bytes: head('connection: close\r\n') + body, followedBy: 'fin' };
  }
}

describe.each(rows)('%s', (_name, { dialect, endpoint, stream, cutBy1 }) => {
  // As it came, and through the neutral form.
  const endpoints = [...new Set<Endpoint>([endpoint, endpoint === 'messages' ? 'chat' : 'messages'])];
  const asked = endpoints.flatMap((to) => framings.map((framing) => [to, framing] as const));

  test.each(asked)(
    'on %s, framed by %s: with no line end, one, and two, it is whole',
    inHouse(async (house, to, framing) => {
      const wall = await house.wallThat({ type: 'answer' });
      const rig = await house.rigOf([{ dialects: [dialect], baseUrl: wall.baseUrl }]);
      const texts = new Set<string>();
      for (const end of ['', '\n', '\r\n', '\n\n']) {
        wall.script(answerWith(stream + end, framing));
        rig.records.length = 0;
        const seen = await ask(rig, { endpoint: to, isStream: true });
        expect([seen.status, seen.ending, endsWell(seen)], JSON.stringify(end)).toEqual([
          200,
          'last-chunk',
          true,
        ]);
        expect(rig.records.map(lineOf)).toEqual(['1 t0 answered tenant']);
        texts.add(textOf(seen));
      }
      expect([...texts]).toEqual([expect.stringMatching(/\w/)]);
    }),
  );

  test.each(asked)(
    `on %s, framed by %s: without its last byte it is ${cutBy1}`,
    inHouse(async (house, to, framing) => {
      const wall = await house.wallThat(answerWith(stream.slice(0, -1), framing));
      const rig = await house.rigOf([{ dialects: [dialect], baseUrl: wall.baseUrl }]);
      const seen = await ask(rig, { endpoint: to, isStream: true });
      const isWhole = cutBy1 === 'whole';
      expect([endsWell(seen), seen.ending === 'last-chunk']).toEqual([isWhole, isWhole]);
      expect(rig.records.map(({ outcome }) => outcome)).toEqual([isWhole ? 'answered' : 'broken-off']);
    }),
  );
});
