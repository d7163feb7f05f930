// Is this a whole answer in which nothing is missing, as nearly all are? Then its model and its counts are all that the gateway needs of
// it, and it is not parsed.

import type { Usage } from '../../../core/contract/ledger-record.ts';
import {
  childrenIn,
  codeOf,
  type Level,
  lookedIntoBytesMax,
  nameOf,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
  textOf,
  valueEndOf,
  valueStartOf,
} from '../../json/json-scan.ts';
import { asRecord } from '../../json/record.ts';
import { meansFailure } from '../answer/failure-reasons.ts';
import { hasSoundCounts, readOpenAiUsage } from './convert-usage.ts';
import { isFinishReason } from './map-finish-reason.ts';

interface PlainAnswer {
  readonly model: string;
  readonly usage: Usage;
}

/** Bits of the members that have been seen and are well. */
const [id, object, created, model, choices, usage] = [1, 2, 4, 8, 16, 32];
const wholeAnswer = id + object + created + model + choices + usage;
const [index, reason, message, text] = [1, 2, 4, 8];

/** @returns Undefined if it is anything else: it has to be parsed, to see what. */
export function readPlainAnswer(body: Buffer): PlainAnswer | undefined {
  if (body.length > lookedIntoBytesMax) return undefined;
  const count = childrenIn(body, 0, 0, body.length) ?? 0;
  let seen = 0;
  let servedModel = '';
  let read: Usage | undefined;
  for (let at = 0; at < count; at++) {
    const name = nameOf(0, at)?.text;
    if (name === 'model') servedModel = textOf(0, at) ?? '';
    else if (name === 'usage') read = readCounts(body, at);
    const member = name === undefined ? odd : memberOf(name, body, at);
    // Of two with one name a parser takes the last.
    if (member === odd || (seen & member) !== 0) return undefined;
    seen |= member;
  }
  return seen === wholeAnswer && servedModel !== '' && read ? { model: servedModel, usage: read } : undefined;
}

function memberOf(name: string, body: Buffer, at: number): number {
  switch (name) {
    case 'id':
      // Each answer has another one.
      return isText(0, at) ? id : odd;
    case 'object': {
      const word = textOf(0, at);
      return word && word !== 'error' ? object : odd;
    }
    case 'model':
      return model;
    case 'created':
      return isPositive(0, at) ? created : odd;
    case 'choices':
      return areWhole(body, at) ? choices : odd;
    case 'usage':
      return usage;
    case 'error':
      return odd;
    default:
      return 0;
  }
}

/** Undefined also where its text has to be looked at, see `outputOf`. */
function readCounts(body: Buffer, at: number): Usage | undefined {
  if (codeOf(0, at) !== OPEN_BRACE) return undefined;
  const counts = asRecord(JSON.parse(body.toString('utf8', valueStartOf(0, at), valueEndOf(0, at))));
  const read = counts && hasSoundCounts(counts) ? readOpenAiUsage(counts) : undefined;
  return read !== undefined && read.input > 0 && read.output > 0 ? read : undefined;
}

function areWhole(body: Buffer, at: number): boolean {
  if (codeOf(0, at) !== OPEN_BRACKET) return false;
  const count = childrenIn(body, 1, valueStartOf(0, at), valueEndOf(0, at)) ?? 0;
  for (let choice = 0; choice < count; choice++) if (!isWhole(body, choice)) return false;
  return count > 0;
}

function isWhole(body: Buffer, choice: number): boolean {
  if (codeOf(1, choice) !== OPEN_BRACE) return false;
  const count = childrenIn(body, 2, valueStartOf(1, choice), valueEndOf(1, choice)) ?? 0;
  let seen = 0;
  for (let at = 0; at < count; at++) {
    const name = nameOf(2, at)?.text;
    const member = name === undefined ? odd : choiceMember(name, body, at);
    if (member === odd || (seen & member) !== 0) return false;
    seen |= member;
  }
  return seen === index + reason + message || seen === index + reason + text;
}

function choiceMember(name: string, body: Buffer, at: number): number {
  switch (name) {
    case 'index':
      return isDigit(codeOf(2, at)) ? index : odd;
    case 'finish_reason': {
      const word = textOf(2, at);
      return isFinishReason(word) && !meansFailure(word) ? reason : odd;
    }
    case 'message':
      return isPlainMessage(body, at) ? message : odd;
    case 'text':
      return codeOf(2, at) === QUOTE ? text : odd;
    default:
      return 0;
  }
}

/** One that calls tools is looked at closely. */
function isPlainMessage(body: Buffer, at: number): boolean {
  if (codeOf(2, at) !== OPEN_BRACE) return false;
  const count = childrenIn(body, 3, valueStartOf(2, at), valueEndOf(2, at)) ?? 0;
  for (let member = 0; member < count; member++) {
    const name = nameOf(3, member)?.text;
    if (name === undefined) return false;
    const isCall = name === 'tool_calls' || name === 'function_call';
    // No other value begins like `null`.
    if (isCall && codeOf(3, member) !== 0x6e) return false;
  }
  return count > 0;
}

/** A string that is not empty. */
function isText(level: Level, at: number): boolean {
  return codeOf(level, at) === QUOTE && valueEndOf(level, at) - valueStartOf(level, at) > 2;
}

function isPositive(level: Level, at: number): boolean {
  const code = codeOf(level, at);
  return isDigit(code) && code !== 0x30;
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}

/** Anything unusual, which is left to the parser. */
const odd = -1;
