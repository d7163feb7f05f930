// By which address was the server asked, and is the address its own? After DNS rebinding, a foreign page reaches this server under a
// foreign name: it is refused, and so learns nothing.

/** An address that people open. */
export interface Place {
  /** As browsers write it in `Origin`. */
  readonly origin: string;
  /** As browsers write it in `Host`. */
  readonly host: string;
  /** Over https; only then may cookies be marked so. */
  readonly isSecure: boolean;
}

export function placeOf({ origin, host, protocol }: URL): Place {
  return { origin, host, isSecure: protocol === 'https:' };
}

/** @param host of the header. Undefined: an unknown address. */
export function findPlace(places: readonly Place[], host: string | undefined): Place | undefined {
  if (host === undefined || host.length > 300) return undefined;
  const named = host.toLowerCase();
  const found = places.find((place) => place.host === named);
  if (found !== undefined) return found;
  // A forwarded port on the person's own machine may be any; a foreign name cannot lead to loopback names.
  const url = /^(?:localhost|127\.0\.0\.1|\[::1\])(?::\d{1,5})?$/.test(named)
    ? URL.parse(`http://${named}`)
    : null;
  return url === null ? undefined : placeOf(url);
}

export function isLoopback(hostname: string): boolean {
  return ['localhost', '127.0.0.1', '[::1]'].includes(hostname);
}
