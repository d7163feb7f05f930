// Has this connection carried a request before, and is it still needed? An upstream may close an idle connection just as the next
// request is sent, and a caller may leave while the first request is in flight.

import { Client, type Dispatcher } from 'undici';

/** Of the one connection that a client of a pool has at a time. */
export interface ConnectionUse {
  requests: number;
  /**
   * The last request on this connection was cancelled. A connection that is still being opened for it is given up, and undici drops the
   * request: otherwise undici would keep the request and its body until the attempt to connect ends.
   */
  giveUp(): void;
}

/** A handler that wants to know what its request is sent over. */
export interface ConnectionAware {
  /** @returns False: it is no longer wanted, and takes none. */
  takeConnection(use: ConnectionUse): boolean;
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
      connect: (target, callback) => {
        const wanted = { ...target, unwanted: use.unwanted };
        connect(wanted, (...made) => {
          const [, socket] = made;
          if (socket) use.begin();
          callback(...made);
        });
      },
    });
    this.use = use;
  }

  override dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    if (isAware(handler)) {
      // One that had to wait for a free connection leaves it to the next.
      if (!handler.takeConnection(this.use)) return true;
      this.use.renew();
    }
    return super.dispatch(options, handler);
  }
}

class CountedUse implements ConnectionUse {
  requests = 0;
  private wish = new AbortController();

  get unwanted(): AbortSignal {
    return this.wish.signal;
  }

  begin(): void {
    this.requests = 0;
  }

  giveUp(): void {
    this.wish.abort();
  }

  renew(): void {
    if (this.unwanted.aborted) this.wish = new AbortController();
  }
}

function isAware(handler: object): handler is ConnectionAware {
  return 'takeConnection' in handler;
}
