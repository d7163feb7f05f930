// What does a proxy want to hear before it lets bytes through? The shape that both kinds of handshake share: bytes in,
// one step out. Pure; `open-tunnel.ts` reads and writes.

/** Where the tunnel leads. */
export interface TunnelTarget {
  /** A name, for the proxy to resolve, or an address in canonical form without brackets. */
  readonly host: string;
  readonly port: number;
}

export interface ProxyCredentials {
  readonly username: string;
  readonly password: string;
}

export type HandshakeStep =
  /** The answer is not whole yet. */
  | { readonly type: 'more' }
  | { readonly type: 'send'; readonly bytes: Buffer }
  /** The tunnel is open. */
  | { readonly type: 'open' }
  /** Fixed words, and numbers that the proxy gave: never text of the proxy's own, never a credential. */
  | { readonly type: 'refused'; readonly fact: string };

/** One handshake; `take` is called with whatever came, in any pieces, until it gives `open` or `refused`. */
export interface Handshake {
  readonly opening: Buffer;
  take(chunk: Buffer): HandshakeStep;
}

/** No bytes may follow the answer: the client speaks first, so these bytes do not come from the upstream. */
export const spokeTooSoon: HandshakeStep = {
  type: 'refused',
  fact: 'it sent bytes before anything was asked of the upstream.',
};
