// What has the caller asked the simulator to do beyond the dialect: how fast, how long, and which way to fail?
//
// Directives are words, or `name=value` pairs, written behind the model name and joined by `+`
//
//     sim-small+delay=200+pace=10+tokens=64+fault=error-500
//
// which a caller may send, and a ModelRoute may hold as the upstreamModel of a target (blanks in it as %20),
//
// or in the header `x-simulator`, joined by `,` (a directive in the header wins over the same one in the model name)
//
//     x-simulator: delay=200,pace=10,tokens=64,fault=reset-after:5
//
// or installed at run time with `simulator.script(model, 'fault=error-503,once')`. Values are percent-decoded, so that
// a text may hold `+`, `,` and blanks. An unknown directive is an error and answers 400: a misspelt fault that quietly
// does nothing would make a test pass for no reason.
//
// | directive        | meaning                                                                                    |
// |------------------|--------------------------------------------------------------------------------------------|
// | delay=MS         | wait before anything is answered                                                           |
// | first=MS         | wait between the headers and the first token (plain: before the answer)                    |
// | pace=MS          | wait before every further token (plain: the sum of it before the answer)                   |
// | tokens=N         | the text is exactly N tokens long                                                          |
// | text=TEXT        | the text is this                                                                           |
// | chunk=N          | N tokens in one event (default 1)                                                          |
// | reasoning=N      | N tokens of reasoning, asked for or not (0: none)                                          |
// | redacted         | messages: the reasoning comes as a redacted_thinking block                                 |
// | cached=N         | N tokens of the input are reported as read from a cache (at most the input)                |
// | cache-write=N    | N tokens of the input are reported as written to a cache                                   |
// | usage=none       | no usage is reported at all, as some providers do                                          |
// | calls=N          | N parallel tool calls instead of one; 0: answer in text although there are tools           |
// | call=always      | call a tool even though the conversation holds a tool result                               |
// | tool=NAME        | call this one of the offered tools                                                         |
// | args=JSON        | with these arguments (custom tools: this input), whatever the schema says                  |
// | refusal          | refuse, the way the dialect does it                                                        |
// | filter           | end with the dialect's content filter reason                                               |
// | strict           | refuse unknown top-level members, as the vendors do                                        |
// | crlf             | the event stream has CRLF line ends                                                        |
// | noise            | the event stream carries comments, `id:` and `retry:` fields between the events            |
// | fault=KIND[:N]   | fail, see the next table                                                                   |
// | once, times=N    | only the first call, the first N calls with this model and fault fail; then all is well    |
// | after=N          | the first N calls with this model and fault go well; `times` counts from there             |
// | retry-after=S    | the header `retry-after: S` on error statuses                                              |
// | status=N         | which error an error event tells of (default 500)                                          |
// | message=TEXT     | the error message                                                                          |
// | type=T, code=C   | the error type and code                                                                    |
//
// | fault                | in a stream                                             | in a plain answer                 |
// |----------------------|---------------------------------------------------------|-----------------------------------|
// | error-STATUS         | the status with the dialect's error body                | the same                          |
// | hang                 | nothing is ever sent                                    | the same                          |
// | hang-after-headers   | 200 and the headers, then nothing                       | the same                          |
// | reset-before-headers | the connection is reset                                 | the same                          |
// | reset-after:N        | N tokens, then the connection is reset                  | half the body, then reset         |
// | cut-after:N          | N tokens, then a clean end without the terminal marker  | half the body, cleanly ended      |
// | fin-after:N          | N tokens, then FIN without the final HTTP chunk         | half of the announced body, FIN   |
// | stall-after:N        | N tokens, then silence                                  | half the body, then silence       |
// | error-first          | 200, and the first event is an error                    | `status` with the error body      |
// | error-after:N        | N tokens, then an error event and a clean end           | `status` with the error body      |
// | no-done              | all but the very last event ([DONE], message_stop,      | no effect                         |
// |                      | response.completed)                                     |                                   |
// | garbage-at:N         | the Nth event (from 1) is not JSON; the rest follows    | the body is not JSON              |
// | huge-event:BYTES     | one event of that many bytes before the first token     | no effect                         |
// | html                 | 200 with an HTML page                                   | the same                          |
// | empty                | 200 with an empty body                                  | the same                          |
// | truncated            | the last token's event breaks off, clean end            | half the body, cleanly ended      |
// | redirect             | 302 to another address                                  | the same                          |
//
// "N tokens" means exactly N, or all of them when the answer is shorter: then the fault comes before the terminal marker.

export type Fault =
  | { kind: 'error'; status: number }
  | { kind: 'hang' }
  | { kind: 'hang-after-headers' }
  | { kind: 'reset-before-headers' }
  | { kind: 'reset-after' | 'cut-after' | 'fin-after' | 'stall-after' | 'error-after'; tokens: number }
  | { kind: 'error-first' }
  | { kind: 'no-done' }
  | { kind: 'garbage-at'; event: number }
  | { kind: 'huge-event'; bytes: number }
  | { kind: 'html' }
  | { kind: 'empty' }
  | { kind: 'truncated' }
  | { kind: 'redirect' };

export type Directives = {
  delayMs?: number;
  firstMs?: number;
  paceMs?: number;
  tokens?: number;
  text?: string;
  chunkTokens?: number;
  reasoningTokens?: number;
  isRedacted?: boolean;
  cachedTokens?: number;
  cacheWriteTokens?: number;
  hasNoUsage?: boolean;
  calls?: number;
  callsAlways?: boolean;
  tool?: string;
  args?: string;
  isRefusal?: boolean;
  isFiltered?: boolean;
  isStrict?: boolean;
  hasCrlf?: boolean;
  hasNoise?: boolean;
  fault?: Fault;
  /** How many calls fail, after `faultAfter` calls that go well. Absent: all of them. */
  faultTimes?: number;
  faultAfter?: number;
  retryAfterS?: number;
  status?: number;
  message?: string;
  type?: string;
  code?: string;
};

/** A directive that the simulator does not know or whose value makes no sense. The message names it. */
export class DirectiveError extends Error {
  override name = 'DirectiveError';
}

/** Splits `sim-small+delay=5` into the model's own name and its directives. Throws DirectiveError. */
export function parseModelName(model: string): { base: string; directives: Directives } {
  const plus = model.indexOf('+');
  if (plus < 0) return { base: model, directives: {} };
  return { base: model.slice(0, plus), directives: parseWords(model.slice(plus + 1).split('+')) };
}

/** Reads the value of the header `x-simulator`, or a script: directives joined by `,`. Throws DirectiveError. */
export function parseDirectives(text: string): Directives {
  return parseWords(text.split(','));
}

/** The fault as it is written in a directive, without its number: the name used in the call log. */
export function faultName(fault: Fault): string {
  return fault.kind === 'error' ? `error-${fault.status}` : fault.kind;
}

function parseWords(words: string[]): Directives {
  const directives: Directives = {};
  for (const word of words) {
    const trimmed = word.trim();
    if (trimmed !== '') apply(directives, trimmed);
  }
  return directives;
}

function apply(directives: Directives, word: string): void {
  const equals = word.indexOf('=');
  const name = equals < 0 ? word : word.slice(0, equals);
  const setter = Object.hasOwn(setters, name) ? setters[name] : undefined;
  if (setter === undefined) throw new DirectiveError(`simulator: there is no directive '${name}'`);
  setter(directives, equals < 0 ? undefined : decode(word.slice(equals + 1), name), name);
}

type Setter = (directives: Directives, value: string | undefined, name: string) => void;

const setters: Record<string, Setter> = {
  delay: (d, value, name) => {
    d.delayMs = wholeNumber(value, name);
  },
  first: (d, value, name) => {
    d.firstMs = wholeNumber(value, name);
  },
  pace: (d, value, name) => {
    d.paceMs = wholeNumber(value, name);
  },
  tokens: (d, value, name) => {
    d.tokens = wholeNumber(value, name, 1);
  },
  text: (d, value, name) => {
    d.text = present(value, name);
  },
  chunk: (d, value, name) => {
    d.chunkTokens = wholeNumber(value, name, 1);
  },
  reasoning: (d, value, name) => {
    d.reasoningTokens = wholeNumber(value, name);
  },
  redacted: flag((d) => {
    d.isRedacted = true;
  }),
  cached: (d, value, name) => {
    d.cachedTokens = wholeNumber(value, name);
  },
  'cache-write': (d, value, name) => {
    d.cacheWriteTokens = wholeNumber(value, name);
  },
  usage: (d, value, name) => {
    oneOf(value, name, ['none']);
    d.hasNoUsage = true;
  },
  calls: (d, value, name) => {
    d.calls = wholeNumber(value, name);
  },
  call: (d, value, name) => {
    oneOf(value, name, ['always']);
    d.callsAlways = true;
  },
  tool: (d, value, name) => {
    d.tool = present(value, name);
  },
  args: (d, value, name) => {
    d.args = present(value, name);
  },
  refusal: flag((d) => {
    d.isRefusal = true;
  }),
  filter: flag((d) => {
    d.isFiltered = true;
  }),
  strict: flag((d) => {
    d.isStrict = true;
  }),
  crlf: flag((d) => {
    d.hasCrlf = true;
  }),
  noise: flag((d) => {
    d.hasNoise = true;
  }),
  fault: (d, value, name) => {
    d.fault = parseFault(present(value, name));
  },
  once: flag((d) => {
    d.faultTimes = 1;
  }),
  times: (d, value, name) => {
    d.faultTimes = wholeNumber(value, name, 1);
  },
  after: (d, value, name) => {
    d.faultAfter = wholeNumber(value, name);
  },
  'retry-after': (d, value, name) => {
    d.retryAfterS = wholeNumber(value, name);
  },
  status: (d, value, name) => {
    d.status = errorStatus(present(value, name));
  },
  message: (d, value, name) => {
    d.message = present(value, name);
  },
  type: (d, value, name) => {
    d.type = present(value, name);
  },
  code: (d, value, name) => {
    d.code = present(value, name);
  },
};

function parseFault(text: string): Fault {
  if (text.startsWith('error-') && /^error-\d/.test(text)) {
    return { kind: 'error', status: errorStatus(text.slice('error-'.length)) };
  }
  const colon = text.indexOf(':');
  const kind = colon < 0 ? text : text.slice(0, colon);
  const argument = colon < 0 ? undefined : text.slice(colon + 1);
  switch (kind) {
    case 'reset-after':
    case 'cut-after':
    case 'fin-after':
    case 'stall-after':
    case 'error-after':
      return { kind, tokens: wholeNumber(argument, kind) };
    case 'garbage-at':
      return { kind, event: wholeNumber(argument, kind, 1) };
    case 'huge-event':
      return { kind, bytes: wholeNumber(argument, kind, 1) };
    case 'hang':
    case 'hang-after-headers':
    case 'reset-before-headers':
    case 'error-first':
    case 'no-done':
    case 'html':
    case 'empty':
    case 'truncated':
    case 'redirect':
      if (argument !== undefined) throw new DirectiveError(`simulator: fault '${kind}' takes no number`);
      return { kind };
    default:
      throw new DirectiveError(`simulator: there is no fault '${text}'`);
  }
}

function flag(set: (directives: Directives) => void): Setter {
  return (directives, value, name) => {
    if (value !== undefined) throw new DirectiveError(`simulator: directive '${name}' takes no value`);
    set(directives);
  };
}

function present(value: string | undefined, name: string): string {
  if (value === undefined || value === '')
    throw new DirectiveError(`simulator: '${name}' needs a value: ${name}=…`);
  return value;
}

function oneOf(value: string | undefined, name: string, allowed: string[]): void {
  if (value === undefined || !allowed.includes(value)) {
    throw new DirectiveError(`simulator: '${name}' must be one of ${allowed.join(', ')}`);
  }
}

// Nine digits: more tokens or milliseconds than that has always been a slip, and it stays an exact number.
function wholeNumber(value: string | undefined, name: string, min = 0): number {
  if (value === undefined || !/^\d{1,9}$/.test(value) || Number(value) < min) {
    throw new DirectiveError(
      `simulator: '${name}' needs a whole number of at least ${min}, not '${value ?? ''}'`,
    );
  }
  return Number(value);
}

function errorStatus(text: string): number {
  if (!/^[45]\d\d$/.test(text)) throw new DirectiveError(`simulator: '${text}' is not an HTTP error status`);
  return Number(text);
}

function decode(text: string, name: string): string {
  try {
    return decodeURIComponent(text);
  } catch (cause) {
    throw new DirectiveError(`simulator: the value of '${name}' is not properly percent-encoded`, { cause });
  }
}
