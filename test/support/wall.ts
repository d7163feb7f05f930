// A provider that breaks on request: a raw-socket server in four dialects with every fault, its own call log and
// its own count of tokens. Tests hold the gateway's records against that count.

import { createServer, type Server, type Socket } from 'node:net';
import type { Behaviour } from './wall/behaviour.ts';
import { type Call, type CallEnd, countCall, noTokens, sumCalls, type WallTotals } from './wall/call.ts';
import { type Departure, watchDeparture } from './wall/departure.ts';
import { perform } from './wall/perform.ts';
import { asRequestJson, type Received, readRequests } from './wall/read-request.ts';
import { type Score, scoreBehaviour } from './wall/score.ts';
import type { Voice } from './wall/voice.ts';
import { anthropicMessages } from './wall/voices/anthropic-messages.ts';
import { openaiChat } from './wall/voices/openai-chat.ts';
import { openaiCompletions } from './wall/voices/openai-completions.ts';
import { openaiModels } from './wall/voices/openai-models.ts';
import { openaiResponses } from './wall/voices/openai-responses.ts';

export type {
  Answer,
  Behaviour,
  Choice,
  Delay,
  Framing,
  Point,
  ToolCall,
  WallUsage,
} from './wall/behaviour.ts';
export type { Call, CallEnd, CallTokens, WallTotals } from './wall/call.ts';
export { type ClosedPort, closedPort } from './wall/closed-port.ts';
export { sixtyWords } from './wall/voice.ts';

/** One behaviour for every call; or one after another, the last for all that follow; or chosen by the call. */
export type Script = Behaviour | readonly Behaviour[] | ((call: Call) => Behaviour);

export interface Wall {
  /** `http://127.0.0.1:<port>`; the OpenAI base URL is this with `/v1`. */
  url: string;
  baseUrl: string;
  port: number;
  /** Replaces the script, from the next call on. */
  script(next: Script): void;
  /** The same for model listings, which health probes ask for. Until then they are answered. */
  scriptListings(next: Script): void;
  /** Every call except model listings, in the order of arrival. */
  calls: readonly Call[];
  listings: readonly Call[];
  totals(): WallTotals;
  /** The next call that nobody has taken here yet; it may have arrived before. */
  nextCall(): Promise<Call>;
  /** How many connections have been opened, and how many of them are open now. */
  connections(): { opened: number; open: number };
  /** Ends every connection. Rejects when a scripted fault could not happen, so that it cannot hide. */
  close(): Promise<void>;
}

export interface WallOptions {
  /** The ids in the model listing. */
  models?: readonly string[];
  /** Default 127.0.0.1. */
  host?: string;
  port?: number;
}

export async function startWall(
  script: Script = { type: 'answer' },
  options: WallOptions = {},
): Promise<Wall> {
  const host = options.host ?? '127.0.0.1';
  const generation = [openaiChat, openaiCompletions, anthropicMessages, openaiResponses];
  const listing = openaiModels(options.models ?? ['wall-model']);
  const calls: Call[] = [];
  const listings: Call[] = [];
  const mistakes: Error[] = [];
  const mailbox = openMailbox<Call>();
  let chooseAnswer = makeChooser(script);
  let chooseListing = makeChooser({ type: 'answer' });
  let opened = 0;

  const sockets = new Map<Socket, Departure>();
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
    opened += 1;
    const departure = watchDeparture(socket);
    sockets.set(socket, departure);
    socket.on('close', () => sockets.delete(socket));
    serve(socket, departure, opened).catch((error: unknown) => {
      mistakes.push(error instanceof Error ? error : new Error(String(error)));
      socket.resetAndDestroy();
    });
  });

  async function serve(socket: Socket, departure: Departure, connection: number): Promise<void> {
    const requests = readRequests(socket);
    for (let isConnectionReused = false; ; isConnectionReused = true) {
      const received = await requests.next();
      if (received === undefined) {
        socket.end();
        return;
      }
      const isListing = listing.matches(received.method, pathOf(received));
      const log = isListing ? listings : calls;
      const ending = Promise.withResolvers<CallEnd>();
      const call: Call = {
        ...received,
        number: log.length + 1,
        connection,
        isConnectionReused,
        voice: undefined,
        behaviour: undefined,
        startedAtMs: performance.now(),
        endedAtMs: undefined,
        bytesWritten: 0,
        bodyBytesWritten: 0,
        eventsWritten: 0,
        end: undefined,
        finished: ending.promise,
        clientClosed: departure.clientClosed,
        tokens: noTokens,
      };
      log.push(call);
      if (!isListing) mailbox.put(call);
      const score = chooseScore(call, isListing);
      const performed = await perform(score.acts, {
        socket,
        departure,
        onWritten: makeCounter(call, score),
      });
      call.end = performed.end;
      call.endedAtMs = performance.now();
      ending.resolve(performed.end);
      if (!performed.isKept) {
        if (performed.end === 'client-closed' || performed.end === 'wall-closed') socket.destroy();
        return;
      }
      if (received.headers.connection?.toLowerCase() === 'close') {
        socket.end();
        return;
      }
    }
  }

  /** Sets the voice and the behaviour of the call too. */
  function chooseScore(call: Call, isListing: boolean): Score {
    const voice: Voice | undefined = isListing
      ? listing
      : generation.find((each) => each.matches(call.method, pathOf(call)));
    const facts = {
      number: call.number,
      request: asRequestJson(call.json),
      isConnectionReused: call.isConnectionReused,
      nowMs: Date.now(),
    };
    if (voice === undefined) {
      const message = `The wall does not speak ${call.method} ${call.path}`;
      return scoreBehaviour({ type: 'status', status: 404, error: { message } }, openaiChat, facts);
    }
    call.voice = voice.name;
    try {
      const behaviour = isListing ? chooseListing(call) : chooseAnswer(call);
      call.behaviour = behaviour;
      return scoreBehaviour(behaviour, voice, facts);
    } catch (cause) {
      const what = call.behaviour === undefined ? 'its script' : JSON.stringify(call.behaviour.type);
      const mistake = new Error(`The wall could not play ${what} for call ${call.number} to ${call.path}`, {
        cause,
      });
      mistakes.push(mistake);
      return scoreBehaviour(
        { type: 'status', status: 599, error: { message: mistake.message } },
        voice,
        facts,
      );
    }
  }

  await listen(server, options.port ?? 0, host);
  const port = portOf(server);
  const url = `http://${host}:${port}`;
  return {
    url,
    baseUrl: `${url}/v1`,
    port,
    script(next) {
      chooseAnswer = makeChooser(next);
    },
    scriptListings(next) {
      chooseListing = makeChooser(next);
    },
    calls,
    listings,
    totals: () => sumCalls(calls),
    nextCall: () => mailbox.take(),
    connections: () => ({ opened, open: sockets.size }),
    async close() {
      const isClosed = new Promise<void>((resolve) => server.close(() => resolve()));
      for (const [socket, departure] of sockets) {
        departure.closeWall();
        socket.destroy();
      }
      await isClosed;
      if (mistakes.length > 0) {
        const reasons = mistakes.map((mistake) => `${mistake.message}: ${causeOf(mistake)}`);
        throw new AggregateError(mistakes, `The wall was asked for what cannot be:\n${reasons.join('\n')}`);
      }
    },
  };
}

function makeChooser(script: Script): (call: Call) => Behaviour {
  if (typeof script === 'function') return script;
  const behaviours = 'type' in script ? [script] : script;
  let at = 0;
  return () => {
    const behaviour = behaviours[Math.min(at, behaviours.length - 1)];
    if (behaviour === undefined) throw new RangeError('The script is an empty list');
    at += 1;
    return behaviour;
  };
}

/** Keeps the log true while the bytes leave, so that a test can look at a call that still runs. */
function makeCounter(call: Call, score: Score) {
  let generatedTokens = 0;
  let isReported = false;
  let bytesLeft = 0;
  for (const act of score.acts) if (act.type === 'write') bytesLeft += act.bytes.length;
  return (act: Extract<Score['acts'][number], { type: 'write' }>): void => {
    bytesLeft -= act.bytes.length;
    generatedTokens += act.outputTokens;
    isReported ||= act.reportsUsage;
    call.bytesWritten += act.bytes.length;
    call.bodyBytesWritten += act.bodyBytes;
    call.eventsWritten += act.events;
    const isWhole = score.wholeAt === 'start' || (score.wholeAt === 'end' && bytesLeft === 0);
    call.tokens = countCall(score.said, { isWhole, isReported, generatedTokens });
  };
}

function pathOf(received: Received): string {
  return received.path.split('?')[0] ?? received.path;
}

function causeOf(error: Error): string {
  return error.cause instanceof Error ? error.cause.message : String(error.cause ?? '');
}

function listen(server: Server, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ port, host, backlog: 4096 }, resolve);
  });
}

function portOf(server: Server): number {
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The wall listens on no TCP port');
  return address.port;
}

function openMailbox<T>(): { put(item: T): void; take(): Promise<T> } {
  const items: T[] = [];
  const takers: ((item: T) => void)[] = [];
  return {
    put(item) {
      const taker = takers.shift();
      if (taker === undefined) items.push(item);
      else taker(item);
    },
    take() {
      const item = items.shift();
      if (item !== undefined) return Promise.resolve(item);
      return new Promise((resolve) => takers.push(resolve));
    },
  };
}
