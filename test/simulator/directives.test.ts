// A directive is understood exactly, or refused; and tokens follow one rule.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Directives } from '../../simulator/directives.ts';
import { DirectiveError, parseDirectives, parseModelName } from '../../simulator/directives.ts';
import { countTokens, tokenise } from '../../simulator/tokens.ts';

describe('directives', () => {
  const words: [string, Directives][] = [
    ['delay=200', { delayMs: 200 }],
    ['first=5', { firstMs: 5 }],
    ['pace=10', { paceMs: 10 }],
    ['tokens=64', { tokens: 64 }],
    ['text=a%2Cb%2Bc%20d', { text: 'a,b+c d' }],
    ['chunk=3', { chunkTokens: 3 }],
    ['reasoning=0', { reasoningTokens: 0 }],
    ['redacted', { isRedacted: true }],
    ['cached=7', { cachedTokens: 7 }],
    ['cache-write=8', { cacheWriteTokens: 8 }],
    ['usage=none', { hasNoUsage: true }],
    ['calls=2', { calls: 2 }],
    ['call=always', { callsAlways: true }],
    ['tool=get', { tool: 'get' }],
    ['args=%7B%7D', { args: '{}' }],
    ['refusal', { isRefusal: true }],
    ['filter', { isFiltered: true }],
    ['strict', { isStrict: true }],
    ['crlf', { hasCrlf: true }],
    ['noise', { hasNoise: true }],
    ['once', { faultTimes: 1 }],
    ['times=3', { faultTimes: 3 }],
    ['after=2', { faultAfter: 2 }],
    ['retry-after=9', { retryAfterS: 9 }],
    ['status=503', { status: 503 }],
    ['message=no', { message: 'no' }],
    ['type=t', { type: 't' }],
    ['code=c', { code: 'c' }],
    ['fault=error-529', { fault: { kind: 'error', status: 529 } }],
    ['fault=hang', { fault: { kind: 'hang' } }],
    ['fault=reset-after:5', { fault: { kind: 'reset-after', tokens: 5 } }],
    ['fault=cut-after:0', { fault: { kind: 'cut-after', tokens: 0 } }],
    ['fault=garbage-at:2', { fault: { kind: 'garbage-at', event: 2 } }],
    ['fault=huge-event:100', { fault: { kind: 'huge-event', bytes: 100 } }],
    ['fault=error-first', { fault: { kind: 'error-first' } }],
    ['fault=error-after:1', { fault: { kind: 'error-after', tokens: 1 } }],
  ];
  it.each(words)('%s is understood', (word, expected) => {
    expect(parseDirectives(word)).toEqual(expected);
    expect(parseModelName(`sim-small+${word}`)).toEqual({ base: 'sim-small', directives: expected });
  });

  it('any two of them go together, in the header and in the model name', () => {
    const some = fc.uniqueArray(fc.constantFrom(...words), {
      selector: ([, meaning]) => Object.keys(meaning)[0],
      maxLength: 6,
    });
    fc.assert(
      fc.property(some, (chosen) => {
        const expected = Object.assign({}, ...chosen.map(([, meaning]) => meaning)) as Directives;
        expect(parseDirectives(chosen.map(([word]) => word).join(', '))).toEqual(expected);
        expect(parseModelName(['m', ...chosen.map(([word]) => word)].join('+')).directives).toEqual(expected);
      }),
    );
  });

  const wrong = [
    'nonsense',
    'tokens',
    'tokens=0',
    'tokens=-1',
    'tokens=1.5',
    'delay=',
    'once=1',
    'usage=some',
    'text=%zz',
    'toString=1',
    'fault=',
    'fault=bang',
    'fault=error-200',
    'fault=error-5000',
    'fault=reset-after',
    'fault=hang:3',
    'fault=garbage-at:0',
  ];
  it.each(wrong)('%s is refused, not ignored', (word) => {
    expect(() => parseDirectives(word)).toThrow(DirectiveError);
  });

  it('anything else either parses or is refused as a directive', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        try {
          parseDirectives(text);
        } catch (error) {
          expect(error).toBeInstanceOf(DirectiveError);
        }
      }),
    );
  });
});

describe('tokens', () => {
  it('put together are the text, and are as many as counted', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const tokens = tokenise(text);
        expect(tokens.join('')).toBe(text);
        expect(countTokens(text)).toBe(tokens.length);
        for (const token of tokens) expect(Array.from(token).length).toBeLessThanOrEqual(5);
      }),
    );
  });

  it('follow the rule on the page', () => {
    expect(tokenise('Hello, world')).toEqual(['Hell', 'o,', ' worl', 'd']);
    expect(countTokens('')).toBe(0);
  });
});
