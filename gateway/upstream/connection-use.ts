// Has this connection carried a request before? An upstream may close an idle one just as the next request sets out.

import type { Socket } from 'node:net';
import { Client, type Dispatcher } from 'undici';

/** Of the one connection that a client of a pool has at a time. */
export interface ConnectionUse {
  requests: number;
  /** What has come over it so far, in all; of TLS, what was sealed in it. */
  bytesRead: number;
}

/** A handler that wants to know what its request is sent over. */
export interface ConnectionAware {
  takeConnection(use: ConnectionUse): void;
}

/** For `factory` of a pool. */
export function makeCountingClient(origin: URL, options: object): Dispatcher {
  return new CountingClient(origin, options);
}

class CountingClient extends Client {
  private readonly use: CountedUse;

  constructor(origin: URL, options: Client.Options) {
    const use = new CountedUse();
    const { connect } = options;
    if (typeof connect !== 'function')
      throw new Error('connections of a provider are made by its own connector');
    super(origin, {
      ...options,
      connect: (target, callback) =>
        connect(target, (...made) => {
          const [, socket] = made;
          if (socket) use.begin(socket);
          callback(...made);
        }),
    });
    this.use = use;
  }

  override dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    if (isAware(handler)) handler.takeConnection(this.use);
    return super.dispatch(options, handler);
  }
}

class CountedUse implements ConnectionUse {
  requests = 0;
  private socket: Socket | undefined;

  get bytesRead(): number {
    return this.socket?.bytesRead ?? 0;
  }

  begin(socket: Socket): void {
    this.socket = socket;
    this.requests = 0;
  }
}

function isAware(handler: object): handler is ConnectionAware {
  return 'takeConnection' in handler;
}
