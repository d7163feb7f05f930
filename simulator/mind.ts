// What would the model say? Pure and deterministic: the same prompt and the same directives give the same answer.

import type { Directives } from './directives.ts';
import { valueForPattern } from './pattern-value.ts';
import type { Answer, Choice, Finish, Part, Piece, Prompt, Tool, Usage } from './prompt.ts';
import { valueForSchema } from './schema-value.ts';
import { countTokens, tokenise } from './tokens.ts';

/** Answers several prompts (only completions has more than one) as one answer; choice = position × samples + sample. */
export function answerAll(prompts: Prompt[], directives: Directives): Answer {
  const choices: Choice[] = [];
  let inputTokens = 0;
  for (const prompt of prompts) {
    inputTokens += prompt.inputTokens;
    for (let sample = 0; sample < prompt.samples; sample += 1) {
      choices.push(answerOnce(prompt, directives, sample, choices.length));
    }
  }
  return { choices, usage: measure(choices, inputTokens, directives) };
}

function answerOnce(prompt: Prompt, directives: Directives, sample: number, index: number): Choice {
  const budget = { left: prompt.tokensMax ?? Number.POSITIVE_INFINITY };
  const parts: Part[] = [];
  const reasoning = think(prompt, directives, budget);
  if (reasoning !== undefined) parts.push(reasoning.part);
  if (reasoning?.isCut) return { index, parts, finish: 'length', stopSequence: null };
  const tools = chooseTools(prompt, directives);
  if (tools.length > 0) {
    const finish = callTools(prompt, directives, tools, sample, budget, parts);
    return { index, parts, finish, stopSequence: null };
  }
  const spoken = speak(prompt, directives, sample, budget);
  if (spoken.part.pieces.length > 0) parts.push(spoken.part);
  return { index, parts, finish: spoken.finish, stopSequence: spoken.stopSequence };
}

type Budget = { left: number };

function think(prompt: Prompt, directives: Directives, budget: Budget) {
  const wanted = directives.reasoningTokens ?? prompt.reasoningTokens;
  if (wanted === 0) return undefined;
  const opening = `The user writes ${quote(prompt.lastUserText, 40)}. I should answer briefly.`;
  const tokens = tokenise(opening);
  const fill = tokenise(filler(hash(prompt.seed), wanted - tokens.length));
  const all = [...tokens, ...fill].slice(0, wanted);
  const taken = all.slice(0, budget.left);
  budget.left -= taken.length;
  const part: Part = {
    kind: 'reasoning',
    pieces: group(taken, directives),
    isRedacted: directives.isRedacted ?? false,
  };
  return { part, isCut: taken.length < all.length || budget.left === 0 };
}

// A tool result anywhere in the conversation means that the model answers in text, unless the caller insists on a call.
// Looking only after the last user message would loop for ever with clients that send text after every result.
function chooseTools(prompt: Prompt, directives: Directives): Tool[] {
  if (prompt.toolChoice.kind === 'none' || prompt.tools.length === 0) return [];
  const isForced = prompt.toolChoice.kind === 'required' || prompt.toolChoice.kind === 'one';
  if (prompt.toolResult !== undefined && !directives.callsAlways && !isForced) return [];
  const wanted = prompt.toolChoice.kind === 'one' ? prompt.toolChoice.name : directives.tool;
  // A called tool has given its result, so a model that must call goes on with a tool that it has not called yet.
  const isNext = ({ name }: Tool): boolean =>
    wanted === undefined ? !isForced || !prompt.calledTools.has(name) : name === wanted;
  const start = Math.max(0, prompt.tools.findIndex(isNext));
  const calls = prompt.isParallel ? (directives.calls ?? 1) : Math.min(directives.calls ?? 1, 1);
  const chosen: Tool[] = [];
  for (let call = 0; call < calls; call += 1) {
    // A forced tool is called each time; otherwise parallel calls go round the offered tools.
    const step = prompt.toolChoice.kind === 'one' ? 0 : call;
    const tool = prompt.tools[(start + step) % prompt.tools.length];
    if (tool !== undefined) chosen.push(tool);
  }
  return chosen;
}

function callTools(
  prompt: Prompt,
  directives: Directives,
  tools: Tool[],
  sample: number,
  budget: Budget,
  parts: Part[],
): Finish {
  for (const [position, tool] of tools.entries()) {
    const nameTokens = countTokens(tool.name);
    const tokens = tokenise(directives.args ?? argumentsFor(tool));
    const isWhole = nameTokens + tokens.length <= budget.left;
    if (!isWhole && (!prompt.sendsHalfCalls || nameTokens > budget.left)) return 'length';
    const taken = tokens.slice(0, budget.left - nameTokens);
    budget.left -= nameTokens + taken.length;
    const id = hex(hash(`${prompt.seed} call ${sample} ${position}`), hash(`${tool.name} ${prompt.seed}`));
    parts.push({ kind: 'call', id, tool, nameTokens, pieces: group(taken, directives), isWhole });
    if (!isWhole) return 'length';
  }
  return 'tool-calls';
}

function argumentsFor(tool: Tool): string {
  if (tool.kind === 'function') return JSON.stringify(valueForSchema(tool.schema ?? { type: 'object' }));
  return tool.pattern === undefined ? 'input from the simulator' : valueForPattern(tool.pattern);
}

function speak(prompt: Prompt, directives: Directives, sample: number, budget: Budget) {
  const full = fullText(prompt, directives, sample);
  const stopped = cutAtStop(full, prompt.stops);
  const tokens = tokenise(stopped.text);
  const taken = tokens.slice(0, budget.left);
  const isCut = taken.length < tokens.length;
  const kind = directives.isRefusal ? ('refusal' as const) : ('text' as const);
  const part = { kind, pieces: group(taken, directives) };
  return {
    part,
    finish: finishOf(isCut, stopped.stopSequence !== null, directives),
    stopSequence: isCut ? null : stopped.stopSequence,
  };
}

function finishOf(isCut: boolean, isStopped: boolean, directives: Directives): Finish {
  if (isCut) return 'length';
  if (directives.isFiltered) return 'filter';
  if (directives.isRefusal) return 'refusal';
  return isStopped ? 'stop-sequence' : 'stop';
}

function fullText(prompt: Prompt, directives: Directives, sample: number): string {
  if (directives.text !== undefined) return directives.text;
  if (directives.isRefusal) return 'I am the simulator, and my directives say to refuse this.';
  if (prompt.output.kind === 'json-schema') return JSON.stringify(valueForSchema(prompt.output.schema));
  if (prompt.output.kind === 'json-object') {
    return JSON.stringify({
      speaker: 'simulator',
      model: prompt.model,
      quote: short(prompt.lastUserText, 60),
    });
  }
  const sentence = sentenceFor(prompt, sample);
  if (directives.tokens === undefined) return sentence;
  const tokens = tokenise(sentence);
  const fill = tokenise(filler(hash(`${prompt.seed} ${sample}`), directives.tokens - tokens.length));
  return [...tokens, ...fill].slice(0, directives.tokens).join('');
}

function sentenceFor(prompt: Prompt, sample: number): string {
  const closing = pick(closings, hash(`${prompt.seed} ${sample}`));
  const which = prompt.samples > 1 ? ` (answer ${sample + 1} of ${prompt.samples})` : '';
  const opening = `This is the simulator speaking as ${prompt.model}${which}.`;
  // The tool's words are kept as they are, so that a test can look for them.
  if (prompt.toolResult !== undefined)
    return `${opening} The tool answered "${prompt.toolResult.slice(0, 400)}". ${closing}`;
  return `${opening} You said ${quote(prompt.lastUserText, 80)}. ${closing}`;
}

function cutAtStop(text: string, stops: string[]): { text: string; stopSequence: string | null } {
  let at = text.length;
  let stopSequence: string | null = null;
  for (const stop of stops) {
    const found = text.indexOf(stop);
    if (stop !== '' && found >= 0 && found < at) {
      at = found;
      stopSequence = stop;
    }
  }
  return { text: text.slice(0, at), stopSequence };
}

function measure(choices: Choice[], inputTokens: number, directives: Directives): Usage {
  let output = 0;
  let reasoning = 0;
  for (const part of choices.flatMap((choice) => choice.parts)) {
    const tokens = part.pieces.reduce((sum, piece) => sum + piece.tokens, 0);
    output += tokens + (part.kind === 'call' ? part.nameTokens : 0);
    if (part.kind === 'reasoning') reasoning += tokens;
  }
  const cached = Math.min(directives.cachedTokens ?? 0, inputTokens);
  const cacheWrite = Math.min(directives.cacheWriteTokens ?? 0, inputTokens - cached);
  return { input: inputTokens, cached, cacheWrite, output, reasoning };
}

function group(tokens: string[], directives: Directives): Piece[] {
  const size = directives.chunkTokens ?? 1;
  if (size === 1) return tokens.map((text) => ({ text, tokens: 1 }));
  const pieces: Piece[] = [];
  for (let start = 0; start < tokens.length; start += size) {
    const some = tokens.slice(start, start + size);
    pieces.push({ text: some.join(''), tokens: some.length });
  }
  return pieces;
}

const closings = [
  'All is well.',
  'The water runs.',
  'Ask me more.',
  'That is all I know.',
  'The gate is open.',
];

const words = [
  'the',
  'gate',
  'of',
  'a',
  'mill',
  'lets',
  'in',
  'cool',
  'rain',
  'and',
  'slow',
  'turn',
  'its',
  'wheel',
];

// Every word is at most four letters, so a blank and a word are one token.
function filler(seed: number, tokens: number): string {
  let text = '';
  for (let at = 0; at < tokens; at += 1) text += ` ${pick(words, Math.imul(seed + at, 2654435761) >>> 0)}`;
  return text;
}

function pick(list: string[], number: number): string {
  return list[(number >>> 5) % list.length] ?? '';
}

function quote(text: string, charactersMax: number): string {
  return `"${short(text, charactersMax)}"`;
}

function short(text: string, charactersMax: number): string {
  const line = text.replace(/\s+/g, ' ').trim();
  const characters = Array.from(line.slice(0, charactersMax * 2));
  if (characters.length <= charactersMax && line.length <= charactersMax * 2) return line;
  return `${characters.slice(0, charactersMax).join('')}…`;
}

/** FNV-1a, 32 bits: small, fast and the same everywhere. No secret depends on it. */
export function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) {
    value = Math.imul(value ^ text.charCodeAt(at), 0x01000193);
  }
  return value >>> 0;
}

function hex(...numbers: number[]): string {
  return numbers.map((number) => number.toString(16).padStart(8, '0')).join('');
}
