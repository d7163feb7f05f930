// Do the parts of a streamed answer come one after the other, whatever order the upstream has?

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { freshFacts } from '../../../../gateway/dialects/answer/answer-facts.ts';
import { PartWriter } from '../../../../gateway/dialects/answer/part-writer.ts';
import type { Tool } from '../../../../gateway/dialects/conversation.ts';
import type { StreamPart } from '../../../../gateway/dialects/stream-part.ts';
import { nameTools } from '../../../../gateway/dialects/tools/tool-names.ts';
import { conversationOf } from '../support/make-conversation.ts';

const tools: readonly Tool[] = [
  { kind: 'function', name: 'f' },
  { kind: 'custom', name: 'patch' },
];
const names = nameTools(conversationOf({ tools }), { lengthMax: 64, hasNamespaces: false, hasCustom: false });

function written(write: (writer: PartWriter) => void): string[] {
  const writer = new PartWriter(freshFacts(), names);
  write(writer);
  return writer.take().map(inShort);
}

function inShort(part: StreamPart): string {
  switch (part.type) {
    case 'part-start':
      return `${part.index}( ${part.head.type === 'tool-call' ? part.head.name : part.head.type}`;
    case 'part-delta':
      return `${part.index}: ${part.text}`;
    case 'part-end':
      return `${part.index})`;
    case 'choice-end':
      return part.finish;
    default:
      return part.type;
  }
}

const f = (id: string) => ({ id, name: 'f' });

test('text of one kind is one part, another kind begins the next', () => {
  const parts = written((writer) => {
    writer.text('thinking', 'hm');
    writer.text('thinking', ' so');
    writer.text('text', 'a');
    writer.text('text', '');
    writer.text('text', 'b');
    writer.end('stop');
  });
  expect(parts).toEqual(['0( thinking', '0: hm', '0:  so', '0)', '1( text', '1: a', '1: b', '1)', 'stop']);
});

describe('calls', () => {
  test('deltas of a later call wait until the earlier one is whole', () => {
    const parts = written((writer) => {
      writer.call(0, f('a'));
      writer.callInput(0, '{"x":');
      writer.call(1, f('b'));
      writer.callInput(1, '{}');
      writer.callInput(0, '1}');
      writer.end('tool-calls');
    });
    expect(parts).toEqual(['0( f', '0: {"x":', '0: 1}', '0)', '1( f', '1: {}', '1)', 'tool-calls']);
  });

  test('5: text between two calls ends the first call and becomes a separate part', () => {
    const parts = written((writer) => {
      writer.call(0, f('a'));
      writer.callInput(0, '{}');
      writer.text('text', 'and');
      writer.call(1, f('b'));
      writer.callInput(1, '{}');
      writer.end('tool-calls');
    });
    expect(parts).toEqual([
      '0( f',
      '0: {}',
      '0)',
      '1( text',
      '1: and',
      '1)',
      '2( f',
      '2: {}',
      '2)',
      'tool-calls',
    ]);
  });

  test('of one id are distinguished, the first keeps its own', () => {
    const writer = new PartWriter(freshFacts(), names);
    for (const key of [0, 1, 2]) writer.call(key, f('call_0'));
    writer.end('tool-calls');
    const ids = writer
      .take()
      .flatMap((part) => (part.type === 'part-start' && 'id' in part.head ? [part.head.id] : []));
    expect(ids).toEqual(['call_0', 'call_0_2', 'call_0_3']);
  });

  test('41: a call without arguments is called with an empty object', () => {
    const parts = written((writer) => {
      writer.call(0, f('a'));
      writer.endCall(0);
      writer.call(1, f('b'));
      writer.end('tool-calls');
    });
    expect(parts).toEqual(['0( f', '0: {}', '0)', '1( f', '1: {}', '1)', 'tool-calls']);
  });

  test.each([
    ['its wrapping', ['{"inp', 'ut":"*** Begin\\nPatch"}'], '*** Begin\nPatch'],
    ['no wrapping at all', ['*** Be', 'gin'], '*** Begin'],
  ])('32: a custom tool gets its text out of %s', (_, pieces, text) => {
    const parts = written((writer) => {
      writer.call(0, { id: 'a', name: 'patch' });
      for (const piece of pieces) writer.callInput(0, piece);
      writer.end('tool-calls');
    });
    expect(parts).toEqual(['0( patch', `0: ${text}`, '0)', 'tool-calls']);
  });

  test('54: stop means tool calls where tools were called, cut short stays cut short', () => {
    const called = (finish: 'stop' | 'length') =>
      written((writer) => {
        writer.call(0, f('a'));
        writer.callInput(0, '{"x"');
        writer.end(finish);
      }).at(-1);
    expect(called('stop')).toBe('tool-calls');
    expect(called('length')).toBe('length');
  });
});

test('an answer ends once, and nothing follows', () => {
  const parts = written((writer) => {
    writer.text('text', 'a');
    writer.end('stop');
    writer.text('text', 'b');
    writer.call(0, f('a'));
    writer.end('length');
  });
  expect(parts).toEqual(['0( text', '0: a', '0)', 'stop']);
});

test('whatever comes, parts never overlap and nothing is lost', () => {
  const step = fc.oneof(
    fc.record({ type: fc.constantFrom('text', 'thinking', 'refusal'), text: fc.string({ maxLength: 4 }) }),
    fc.record({ type: fc.constant('call'), key: fc.nat({ max: 3 }) }),
    fc.record({ type: fc.constant('input'), key: fc.nat({ max: 3 }), text: fc.string({ maxLength: 4 }) }),
    fc.record({ type: fc.constantFrom('close', 'endCall'), key: fc.nat({ max: 3 }) }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 25 }), (steps) => {
      const writer = new PartWriter(freshFacts(), names);
      let given = '';
      for (const one of steps) {
        if (one.type === 'text' || one.type === 'thinking' || one.type === 'refusal') {
          writer.text(one.type, 'text' in one ? one.text : '');
          given += 'text' in one ? one.text : '';
        } else if (one.type === 'call' && 'key' in one) writer.call(one.key, f('x'));
        else if (one.type === 'input' && 'key' in one)
          writer.callInput(one.key, 'text' in one ? one.text : '');
        else if (one.type === 'endCall' && 'key' in one) writer.endCall(one.key);
        else writer.close();
      }
      writer.end('stop');
      const parts = writer.take();
      let open: number | undefined;
      let next = 0;
      let isCall = false;
      let text = '';
      for (const part of parts) {
        if (part.type === 'part-start') {
          expect([open, part.index]).toEqual([undefined, next++]);
          open = part.index;
          isCall = part.head.type === 'tool-call';
        } else if (part.type === 'part-delta') {
          expect(part.index).toBe(open);
          if (!isCall) text += part.text;
        } else if (part.type === 'part-end') {
          expect(part.index).toBe(open);
          open = undefined;
        }
      }
      expect(open).toBeUndefined();
      expect(text).toBe(given);
      expect(parts.at(-1)?.type).toBe('choice-end');
    }),
    { seed: 9, numRuns: 1000 },
  );
});
