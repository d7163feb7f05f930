// How is a tunnel asked for over SOCKS5? RFC 1928, with the user name and password of RFC 1929. Names are given to the
// proxy as names, it resolves them. Pure.
//
//   greeting -> chosen method -> (user name and password -> verdict) -> request -> reply

import { isIPv4, isIPv6 } from 'node:net';
import {
  type Handshake,
  type HandshakeStep,
  type ProxyCredentials,
  spokeTooSoon,
  type TunnelTarget,
} from './handshake.ts';

const version = 5;
const methods = { none: 0, password: 2 } as const;
const addressTypes = { ipv4: 1, name: 3, ipv6: 4 } as const;

/** @throws {RangeError} for a name, user name or password of no or more than 255 bytes, which SOCKS5 cannot carry. */
export function startSocks5(target: TunnelTarget, credentials: ProxyCredentials | undefined): Handshake {
  const request = requestFor(target);
  const signIn =
    credentials === undefined
      ? undefined
      : Buffer.concat([Buffer.of(1), counted(credentials.username), counted(credentials.password)]);
  let phase: 'method' | 'verdict' | 'reply' = 'method';
  let waiting = Buffer.alloc(0);

  return {
    opening:
      signIn === undefined
        ? Buffer.of(version, 1, methods.none)
        : Buffer.of(version, 2, methods.none, methods.password),
    take(chunk) {
      waiting = Buffer.concat([waiting, chunk]);
      switch (phase) {
        case 'method':
          return takeMethod();
        case 'verdict':
          return takeVerdict();
        case 'reply':
          return readReply(waiting);
      }
    },
  };

  function takeMethod(): HandshakeStep {
    if (waiting.length > 0 && waiting[0] !== version) return noSocks;
    if (waiting.length < 2) return { type: 'more' };
    if (waiting.length > 2) return spokeTooSoon;
    const method = waiting[1];
    waiting = Buffer.alloc(0);
    if (method === methods.none) {
      phase = 'reply';
      return { type: 'send', bytes: request };
    }
    if (method === methods.password && signIn !== undefined) {
      phase = 'verdict';
      return { type: 'send', bytes: signIn };
    }
    const fact =
      signIn === undefined
        ? 'it requires a user name and password; name a Secret in spec.proxy.credentialsRef.'
        : 'it accepts neither a user name with password nor anonymous clients.';
    return { type: 'refused', fact };
  }

  function takeVerdict(): HandshakeStep {
    if (waiting.length < 2) return { type: 'more' };
    if (waiting.length > 2) return spokeTooSoon;
    const isWelcome = waiting[1] === 0;
    waiting = Buffer.alloc(0);
    phase = 'reply';
    return isWelcome
      ? { type: 'send', bytes: request }
      : {
          type: 'refused',
          fact: 'it rejects the credentials; check the Secret with its username and password.',
        };
  }
}

const noSocks: HandshakeStep = {
  type: 'refused',
  fact: 'it does not answer as a SOCKS5 proxy does; check the scheme of its URL.',
};

function requestFor({ host, port }: TunnelTarget): Buffer {
  const address = isIPv4(host)
    ? [Buffer.of(addressTypes.ipv4), Buffer.from(host.split('.').map(Number))]
    : isIPv6(host)
      ? [Buffer.of(addressTypes.ipv6), ipv6Bytes(host)]
      : [Buffer.of(addressTypes.name), counted(host)];
  return Buffer.concat([Buffer.of(version, 1, 0), ...address, Buffer.of(port >> 8, port & 0xff)]);
}

function readReply(bytes: Buffer): HandshakeStep {
  const [first, code, , addressType, nameBytes] = bytes;
  if (first !== undefined && first !== version) return noSocks;
  // The remaining bytes of a refusal carry no information, and some proxies omit them.
  if (code !== undefined && code !== 0) return { type: 'refused', fact: factOf(code) };
  if (addressType === undefined || nameBytes === undefined) return { type: 'more' };
  const addressBytes = addressBytesOf(addressType, nameBytes);
  if (addressBytes === undefined) return noSocks;
  const replyBytes = 4 + addressBytes + 2;
  if (bytes.length < replyBytes) return { type: 'more' };
  return bytes.length === replyBytes ? { type: 'open' } : spokeTooSoon;
}

function addressBytesOf(type: number, nameBytes: number): number | undefined {
  switch (type) {
    case addressTypes.ipv4:
      return 4;
    case addressTypes.ipv6:
      return 16;
    case addressTypes.name:
      return 1 + nameBytes;
    default:
      return undefined;
  }
}

function factOf(code: number): string {
  switch (code) {
    case 2:
      return 'it does not allow this host or port (SOCKS reply 2); allow it at the proxy.';
    case 3:
    case 4:
    case 5:
    case 6:
      return `it could not reach the upstream (SOCKS reply ${code}); check host and port of spec.baseURL.`;
    case 8:
      return 'it does not support this kind of address (SOCKS reply 8).';
    default:
      return `it refused the tunnel (SOCKS reply ${code}).`;
  }
}

/** With its length before it, in one byte. */
function counted(text: string): Buffer {
  const bytes = Buffer.from(text);
  if (bytes.length === 0 || bytes.length > 255) {
    throw new RangeError('SOCKS5 carries names of 1 to 255 bytes');
  }
  return Buffer.concat([Buffer.of(bytes.length), bytes]);
}

/** The sixteen bytes of a canonical address: `::` replaces the missing groups. */
function ipv6Bytes(address: string): Buffer {
  const [before = '', after] = address.split('::');
  const groups = (text: string) =>
    text === '' ? [] : text.split(':').map((group) => Number.parseInt(group, 16));
  const front = groups(before);
  const back = after === undefined ? [] : groups(after);
  const middle = Array.from({ length: 8 - front.length - back.length }, () => 0);
  return Buffer.from([...front, ...middle, ...back].flatMap((group) => [group >> 8, group & 0xff]));
}
