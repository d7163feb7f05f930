// Which words do readers have to translate? Each has a plain one in its place (CONTRIBUTING.md, plain words).

interface PrivateWord {
  /** As the report names it. */
  readonly word: string;
  /** Global and without regard to case. */
  readonly pattern: RegExp;
  readonly instead: string;
}

const event = '(?:failover|end|answer|content|text|event|call|failure|request|stream|breaker|first|last)s?';

export const privateWords: readonly PrivateWord[] = [
  { word: 'told', pattern: /\btold\b/gi, instead: 'reported, said, or the active voice' },
  { word: 'stands', pattern: /\bstands\b/gi, instead: 'is' },
  { word: 'anew', pattern: /\banew\b/gi, instead: 'again' },
  { word: 'whoever', pattern: /\bwhoever\b/gi, instead: 'the person, client or team' },
  { word: 'anyone who', pattern: /\banyone who\b/gi, instead: 'the caller, client, user or process' },
  { word: 'lent', pattern: /\blent\b/gi, instead: 'shared' },
  { word: 'of then', pattern: /\bof then\b/gi, instead: 'of that time' },
  { word: 'of before', pattern: /\bof before\b/gi, instead: 'earlier' },
  { word: 'let go', pattern: /\b(?:lets?|letting) (?:\w+ )?go\b(?! of\b)/gi, instead: 'released, closed' },
  { word: 'has its turn', pattern: /\b(?:has|have|had|gets?) (?:its|their|his) turn\b/gi, instead: 'runs' },
  { word: 'in hand', pattern: /\bin hand\b/gi, instead: 'in progress, held' },
  { word: 'of its own accord', pattern: /\bof (?:its|their) own accord\b/gi, instead: 'automatically' },
  { word: 'on its way', pattern: /\bon (?:its|their) way\b/gi, instead: 'in progress' },
  { word: 'under way', pattern: /\bunder way\b/gi, instead: 'in flight, in progress, running' },
  { word: 'spoken to', pattern: /\bspoken to\b/gi, instead: 'called, the dialect used with' },
  {
    word: 'let in',
    pattern: /\b(?:lets?|letting) (?:\w+ )?in\b(?! (?:the|a|an|its|this|that)\b)/gi,
    instead: 'admitted, accepted',
  },
  { word: 'meanwhile', pattern: /\bmeanwhile\b/gi, instead: 'while …, or leave it out' },
  {
    word: 'behind (time)',
    pattern: new RegExp(`\\bbehind (?:an?|the|its|their) (?:\\w+ )?${event}\\b`, 'gi'),
    instead: 'after',
  },
  {
    word: 'in front of (time)',
    pattern: new RegExp(`\\bin front of (?:an?|the|its|their) (?:\\w+ )?${event}\\b`, 'gi'),
    instead: 'before',
  },
  { word: 'Leaving', pattern: /\b(?:use|is)Leaving\b/gi, instead: 'leave guard, cancelled or deleted' },
  { word: 'letGo', pattern: /\bletGo(?:Ms)?\b/gi, instead: 'release' },
  { word: 'UnderWay', pattern: /\b(?:are|is)UnderWay\b/gi, instead: 'in flight, open' },
  { word: 'isDoubted', pattern: /\bisDoubted\b/gi, instead: 'suspect' },
  { word: 'TakenRecords', pattern: /\bTakenRecords\b/gi, instead: 'acknowledged' },
  { word: 'SetAside', pattern: /\bSetAside\b/gi, instead: 'quarantine, reservation' },
  { word: 'unclaimed', pattern: /\bunclaimed\b/gi, instead: 'unacknowledged' },
  { word: 'rests', pattern: /\brests\b/gi, instead: 'is in cooldown, is idle' },
  {
    word: 'in flight out',
    pattern: /(?<!requests )\bin flight (?:out|there)\b/gi,
    instead: 'terminating, being deleted',
  },
  { word: 'breathe', pattern: /\bbreathes?\b/gi, instead: 'yield' },
  {
    word: 'allJudged',
    pattern: /\b(?:all|keys)?Judged(?:Policy|Differently)\b|\ballJudged\b/gi,
    instead: 'checked, verdicts',
  },
];

export interface Hit {
  readonly line: number;
  readonly word: string;
  readonly instead: string;
}

/** In the order of the lines. No pattern reaches over the end of one. */
export function findWords(text: string): readonly Hit[] {
  return privateWords
    .flatMap(({ word, pattern, instead }) =>
      Array.from(text.matchAll(pattern), ({ index }) => ({
        line: text.slice(0, index).split('\n').length,
        word,
        instead,
      })),
    )
    .sort((a, b) => a.line - b.line);
}

/** Prose without what it quotes as code: a page may name a word that it advises against. */
export function withoutCode(markdown: string): string {
  return markdown.replaceAll(/`[^`\n]*`/g, '');
}
