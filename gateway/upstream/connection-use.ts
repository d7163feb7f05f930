// Has this connection carried a request before? An upstream may close an idle one just as the next request sets out.

import { Client, type Dispatcher } from 'undici';

/** Of the one connection that a client of a pool has at a time. */
export interface ConnectionUse {
  requests: number;
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
  private readonly use: ConnectionUse = { requests: 0 };

  constructor(origin: URL, options: Client.Options) {
    super(origin, options);
    this.on('connect', () => {
      this.use.requests = 0;
    });
  }

  override dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    if (isAware(handler)) handler.takeConnection(this.use);
    return super.dispatch(options, handler);
  }
}

function isAware(handler: object): handler is ConnectionAware {
  return 'takeConnection' in handler;
}
