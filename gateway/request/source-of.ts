// Which caller does an address count as?

/**
 * For IPv6 the network of 64 bits: one client usually has all its addresses. Some proxies write the port too, as `1.2.3.4:5` and
 * `[2001:db8::1]:5`; each connection has another port, so it does not count.
 */
export function sourceOf(written: string): string {
  const address = withPort.exec(written)?.slice(1).join('') ?? written;
  if (!address.includes(':') || address.startsWith('::ffff:')) return address;
  const [head = '', tail] = address.split('::');
  const groups = head === '' ? [] : head.split(':');
  const rest = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = Array.from({ length: Math.max(0, 8 - groups.length - rest.length) }, () => '0');
  return [...groups, ...(tail === undefined ? [] : zeros), ...rest].slice(0, 4).join(':');
}

const withPort = /^(?:\[([^\]]*)\]|(\d+\.\d+\.\d+\.\d+))(?::\d+)?$/;
