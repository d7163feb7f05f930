// Which trace does a request belong to? The W3C headers traceparent and tracestate, read strictly: callers send them.
// https://www.w3.org/TR/trace-context/

import { randomBytes } from 'node:crypto';

export interface TraceContext {
  /** 32 hexadecimal digits. */
  readonly traceId: string;
  /** 16 hexadecimal digits: the span that the next one is under. */
  readonly spanId: string;
  /** Whoever began the trace records it. */
  readonly isSampled: boolean;
  /** What tracers along the way have noted for themselves, passed on as it is. */
  readonly traceState?: string;
}

const parentPattern = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const parentLengthMax = 256;
/** What has to be passed on at least; longer ones are left out as a whole, as the specification allows. */
const stateLengthMax = 512;
const stateMembersMax = 32;
const statePattern = /^[a-z0-9][a-z0-9_\-*/@]{0,255}=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{1,256}$/;

/**
 * Undefined where there is none, or nobody could say which.
 *
 * @param rawHeaders Names and values in turn, as received.
 */
export function readTraceContext(rawHeaders: readonly string[]): TraceContext | undefined {
  let parent: string | undefined;
  let state: string | undefined;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] ?? '';
    // Both names have lengths that few others have.
    if (name.length !== 11 && name.length !== 10) continue;
    const value = rawHeaders[at + 1] ?? '';
    switch (name.toLowerCase()) {
      case 'traceparent':
        if (parent !== undefined) return undefined;
        parent = value;
        break;
      case 'tracestate':
        // Repeated, it is one list (section 3.3.1.1).
        state = state === undefined ? value : `${state},${value}`;
        break;
    }
  }
  return parent === undefined ? undefined : parseTraceContext(parent, state);
}

function parseTraceContext(parent: string, state: string | undefined): TraceContext | undefined {
  if (parent.length > parentLengthMax) return undefined;
  const [, version, traceId = '', spanId = '', flags = '', more] = parentPattern.exec(parent) ?? [];
  if (version === undefined || version === 'ff' || (version === '00' && more !== undefined)) return undefined;
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined;
  const traceState = state === undefined ? undefined : checkedState(state);
  return {
    traceId,
    spanId,
    isSampled: (Number.parseInt(flags, 16) & 1) === 1,
    ...(traceState === undefined ? {} : { traceState }),
  };
}

/** Undefined where a part of it is wrong: the trace goes on without it (section 3.3). */
function checkedState(state: string): string | undefined {
  if (state.length > stateLengthMax) return undefined;
  const members = state.split(',').flatMap((member) => member.trim() || []);
  const keys = members.map((member) => member.slice(0, member.indexOf('=')));
  const isGood =
    members.length > 0 &&
    members.length <= stateMembersMax &&
    new Set(keys).size === keys.length &&
    members.every((member) => statePattern.test(member));
  return isGood ? members.join(',') : undefined;
}

/** The headers that pass a context on, names and values in turn. */
export function traceHeaders({ traceId, spanId, isSampled, traceState }: TraceContext): readonly string[] {
  const parent = ['traceparent', `00-${traceId}-${spanId}-${isSampled ? '01' : '00'}`];
  return traceState === undefined ? parent : [...parent, 'tracestate', traceState];
}

export function newTraceId(): string {
  return newId(16);
}

export function newSpanId(): string {
  return newId(8);
}

/** One in 2^64 of the short ones would be all zeros, which means none. */
function newId(bytes: number): string {
  const id = randomBytes(bytes).toString('hex');
  return /^0+$/.test(id) ? newId(bytes) : id;
}
