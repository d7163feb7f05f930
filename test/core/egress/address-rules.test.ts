import { describe, expect, test } from 'vitest';
import {
  type AddressRules,
  judgeAddress,
  judgeAnswers,
  judgeHost,
  parseAddressRules,
} from '../../../core/egress/address-rules.ts';

const closed = parseAddressRules([]);

describe('addresses refused by default', () => {
  test.each([
    // first, inside and last of every range
    ['0.0.0.0', 'unspecified'],
    ['0.255.255.255', 'unspecified'],
    ['10.0.0.0', 'private'],
    ['10.255.255.255', 'private'],
    ['100.64.0.0', 'shared'],
    ['100.127.255.255', 'shared'],
    ['127.0.0.1', 'loopback'],
    ['127.255.255.255', 'loopback'],
    ['169.254.0.1', 'link-local'],
    ['172.16.0.0', 'private'],
    ['172.31.255.255', 'private'],
    ['192.0.0.8', 'reserved'],
    ['192.0.2.1', 'documentation'],
    ['192.88.99.1', 'reserved'],
    ['192.168.255.255', 'private'],
    ['198.18.0.0', 'benchmarking'],
    ['198.19.255.255', 'benchmarking'],
    ['198.51.100.7', 'documentation'],
    ['203.0.113.255', 'documentation'],
    ['224.0.0.1', 'multicast'],
    ['239.255.255.255', 'multicast'],
    ['240.0.0.1', 'reserved'],
    ['255.255.255.255', 'multicast'],
    ['::', 'unspecified'],
    ['::1', 'loopback'],
    ['::2', 'embedded-ipv4'],
    ['::127.0.0.1', 'embedded-ipv4'],
    ['::ffff:8.8.8.8', 'embedded-ipv4'],
    ['::ffff:0:8.8.8.8', 'embedded-ipv4'],
    ['64:ff9b::8.8.8.8', 'embedded-ipv4'],
    ['64:ff9b:1:abcd::1', 'embedded-ipv4'],
    ['2002:808:808::1', 'embedded-ipv4'],
    ['2001:0:1234::1', 'embedded-ipv4'],
    ['2001:2::1', 'benchmarking'],
    ['2001:1ff:ffff::1', 'reserved'],
    ['2001:db8::1', 'documentation'],
    ['3fff:fff::1', 'documentation'],
    ['100::1', 'reserved'],
    ['5f00::1', 'reserved'],
    ['4000::1', 'reserved'],
    ['fc00::1', 'private'],
    ['fdff:ffff::1', 'private'],
    ['fe80::1', 'link-local'],
    ['febf::1', 'link-local'],
    ['fec0::1', 'site-local'],
    ['feff::1', 'site-local'],
    ['ff02::1', 'multicast'],
    ['169.254.169.254', 'metadata'],
    ['169.254.170.2', 'metadata'],
    ['169.254.170.23', 'metadata'],
    ['169.254.42.42', 'metadata'],
    ['169.254.0.23', 'metadata'],
    ['168.63.129.16', 'metadata'],
    ['100.100.100.200', 'metadata'],
    ['192.0.0.192', 'metadata'],
    ['fd00:ec2::254', 'metadata'],
    ['fd00:ec2::23', 'metadata'],
    ['fd20:ce::254', 'metadata'],
    ['fd00:c1::a9fe:a9fe', 'metadata'],
    ['fd00:42::42', 'metadata'],
    ['fe80::a9fe:a9fe', 'metadata'],
    ['FD00:0EC2:0::0254', 'metadata'],
  ])('%s is refused as %s', (address, reason) => {
    expect(judgeAddress(closed, 'team-a', address)).toMatchObject({ kind: 'denied', reason });
    expect(judgeHost(closed, 'team-a', address)).toMatchObject({ kind: 'denied', reason });
  });

  test.each([
    '1.0.0.0',
    '9.255.255.255',
    '11.0.0.0',
    '100.63.255.255',
    '100.128.0.0',
    '126.255.255.255',
    '128.0.0.0',
    '168.63.129.17',
    '169.253.255.255',
    '169.255.0.0',
    '172.15.255.255',
    '172.32.0.0',
    '192.0.1.0',
    '192.167.255.255',
    '192.169.0.0',
    '198.17.255.255',
    '198.20.0.0',
    '223.255.255.255',
    '2001:200::1',
    '2606:4700::6810:85e5',
    '2003::1',
    '3ffe:ffff::1',
  ])('%s, just outside every refused range, is public', (address) => {
    expect(judgeAddress(closed, 'team-a', address)).toMatchObject({ kind: 'public', address });
  });

  test.each(['', 'fe80::1%eth0', '127.1', 'localhost', '1.2.3.4:80', '1.2.3.4/32', ' 1.2.3.4'])(
    'a resolver that answers %j gets nowhere',
    (text) => {
      expect(judgeAddress(closed, 'team-a', text).kind).toBe('denied');
    },
  );
});

describe('the allowlist', () => {
  const rules = parseAddressRules([
    { cidr: '10.20.0.0/16', namespaces: ['team-a'] },
    { cidr: 'fd12:3456::/32', namespaces: ['team-a', 'team-b'] },
    { cidr: '192.168.7.9/32', namespaces: ['*'] },
  ]);

  test.each([
    ['team-a', '10.20.255.1', '10.20.0.0/16'],
    ['team-b', '10.20.255.1', undefined],
    ['team-a', '10.21.0.1', undefined],
    ['team-a', 'fd12:3456:7::1', 'fd12:3456::/32'],
    ['team-b', 'fd12:3456:7::1', 'fd12:3456::/32'],
    ['team-c', 'fd12:3456:7::1', undefined],
    ['team-c', '192.168.7.9', '192.168.7.9/32'],
    ['team-c', '192.168.7.8', undefined],
    ['*', '10.20.0.1', undefined],
  ])('namespace %s, address %s: opened by %s', (namespace, address, cidr) => {
    const verdict = judgeAddress(rules, namespace, address);
    expect(verdict).toMatchObject(cidr === undefined ? { kind: 'denied' } : { kind: 'allowlisted', cidr });
  });

  test('an opened IPv4 range does not open the IPv6 forms that carry its addresses', () => {
    for (const form of [
      '::ffff:10.20.0.1',
      '::10.20.0.1',
      '::ffff:0:10.20.0.1',
      '64:ff9b::10.20.0.1',
      '2002:a14:1::',
    ]) {
      expect(judgeAddress(rules, 'team-a', form)).toMatchObject({ kind: 'denied', reason: 'embedded-ipv4' });
    }
  });

  test('everything opened to everyone still leaves metadata, embedded IPv4 and 0.0.0.0 shut', () => {
    const open = parseAddressRules([
      { cidr: '0.0.0.0/0', namespaces: ['*'] },
      { cidr: '::/0', namespaces: ['*'] },
    ]);
    for (const address of [
      '169.254.169.254',
      '169.254.170.2',
      '168.63.129.16',
      '100.100.100.200',
      '192.0.0.192',
      'fd00:ec2::254',
      '::ffff:169.254.169.254',
      '64:ff9b::a9fe:a9fe',
      '2002:a9fe:a9fe::1',
      '0.0.0.0',
      '::',
    ]) {
      expect(judgeAddress(open, 'team-a', address), address).toMatchObject({ kind: 'denied' });
      expect(judgeHost(open, 'team-a', address), address).toMatchObject({ kind: 'denied' });
    }
    for (const address of ['127.0.0.1', '::1', '10.1.1.1', '169.254.1.1', 'fe80::1', 'fd00::1', '8.8.8.8']) {
      expect(judgeAddress(open, 'team-a', address), address).toMatchObject({ kind: 'allowlisted' });
    }
  });

  test('::1 can be opened, although it lies in the IPv4-compatible range', () => {
    const local = parseAddressRules([{ cidr: '::1/128', namespaces: ['default'] }]);
    expect(judgeHost(local, 'default', '[::1]')).toMatchObject({ kind: 'allowlisted', cidr: '::1/128' });
    expect(judgeHost(local, 'default', '[::2]')).toMatchObject({ kind: 'denied' });
  });

  test('cluster ranges in public space are refused, and can be opened', () => {
    const shut = parseAddressRules([], ['34.118.224.0/20']);
    expect(judgeAddress(shut, 'team-a', '34.118.225.9')).toMatchObject({ kind: 'denied', reason: 'cluster' });
    expect(judgeAddress(shut, 'team-a', '34.118.240.0')).toMatchObject({ kind: 'public' });
    const open = parseAddressRules(
      [{ cidr: '34.118.225.9/32', namespaces: ['team-a'] }],
      ['34.118.224.0/20'],
    );
    expect(judgeAddress(open, 'team-a', '34.118.225.9')).toMatchObject({ kind: 'allowlisted' });
  });

  test.each<[string, unknown, RegExp]>([
    ['not a list', { cidr: '10.0.0.0/8' }, /egress\.allow is not a list/],
    ['an entry without namespaces', [{ cidr: '10.0.0.0/8' }], /egress\.allow\[0\] is not/],
    ['an entry without namespaces', [{ cidr: '10.0.0.0/8', namespaces: [] }], /namespaces is not a list/],
    ['a name that is no namespace', [{ cidr: '10.0.0.0/8', namespaces: ['Team A'] }], /"Team A"/],
    ['a pattern for namespaces', [{ cidr: '10.0.0.0/8', namespaces: ['team-*'] }], /"team-\*"/],
    ['a bare address', [{ cidr: '10.0.0.1', namespaces: ['*'] }], /is not a CIDR/],
    ['too many bits', [{ cidr: '10.0.0.0/33', namespaces: ['*'] }], /is not a CIDR/],
    ['no bits', [{ cidr: '10.0.0.0/', namespaces: ['*'] }], /is not a CIDR/],
    ['two slashes', [{ cidr: '10.0.0.0/8/8', namespaces: ['*'] }], /is not a CIDR/],
    ['an octal address', [{ cidr: '010.0.0.0/8', namespaces: ['*'] }], /is not a CIDR/],
    ['a name', [{ cidr: 'example.com/8', namespaces: ['*'] }], /is not a CIDR/],
    ['a number', [{ cidr: 10, namespaces: ['*'] }], /cidr is not text/],
    ['metadata itself', [{ cidr: '169.254.169.254/32', namespaces: ['*'] }], /can never be opened/],
    ['mapped addresses', [{ cidr: '::ffff:10.0.0.0/104', namespaces: ['*'] }], /can never be opened/],
    ['NAT64', [{ cidr: '64:ff9b::/96', namespaces: ['*'] }], /can never be opened/],
  ])('%s is refused with a message', (_what, allow, sentence) => {
    expect(() => parseAddressRules(allow)).toThrow(sentence);
  });

  test('an error in the second entry names the second', () => {
    const entry = { cidr: '10.0.0.0/8', namespaces: ['*'] };
    expect(() => parseAddressRules([entry, { ...entry, cidr: 'x' }])).toThrow(
      /^egress\.allow\[1\]\.cidr "x"/,
    );
    expect(() => parseAddressRules([], ['nonsense'])).toThrow(/^egress\.deny\[0\]/);
  });
});

describe('hosts', () => {
  test.each([
    '127.0.0.1',
    '127.1',
    '127.0.1',
    '2130706433',
    '017700000001',
    '0x7f000001',
    '0X7F.1',
    '0x7f.0.0.0x1',
    '0177.0.0.01',
    '127.0.0.1.',
    '127。0。0。1',
    '１２７.0.0.1',
    '%31%32%37.0.0.1',
    '127%2e0%2e0%2e1',
    '[::1]',
    '::1',
    '[0:0:0:0:0:0:0:1]',
    '[0000:0000:0000:0000:0000:0000:0000:0001]',
  ])('%s is read as loopback', (host) => {
    expect(judgeHost(closed, 'team-a', host)).toMatchObject({ kind: 'denied', reason: 'loopback' });
  });

  test.each([
    '',
    '.',
    '..',
    'a..b',
    'example.com..',
    '127.0.0.1..',
    '256.1.1.1',
    '1.2.3.4.5',
    '0x100000000',
    'exa mple.com',
    'example.com:443',
    '127.0.0.1:443',
    '[::1]:443',
    '[127.0.0.1]',
    '[::1',
    'user@example.com',
    'example.com/path',
    'example.com?q',
    'example.com#f',
    'example.com\\x',
    'example.com%2fpath',
    'example\t.com',
    '127.0\n.0.1',
    '::1::',
    `${'a'.repeat(64)}.example`,
    `${'a.'.repeat(127)}com`,
  ])('%j is not a host', (host) => {
    expect(judgeHost(closed, 'team-a', host)).toMatchObject({ kind: 'denied', reason: 'unreadable-host' });
  });

  test.each(['fe80::1%eth0', '[fe80::1%eth0]', '[fe80::1%25eth0]', '2606:4700::1%1'])(
    '%s is refused for its zone id',
    (host) => {
      expect(judgeHost(closed, 'team-a', host)).toMatchObject({ kind: 'denied', reason: 'zone-id' });
    },
  );

  const internalNames = [
    'localhost',
    'LOCALHOST.',
    'a.localhost',
    'vllm',
    'vllm.',
    'vllm.team-a.svc',
    'vllm.team-a.svc.',
    'vllm.team-a.svc.cluster.local',
    'Kubernetes.Default.SVC.Cluster.Local.',
    'metadata.google.internal',
    'printer.local',
    'svc',
    'ｌｏｃａｌｈｏｓｔ',
  ];

  test.each(internalNames)('%s is an internal name: refused where no range is open', (host) => {
    expect(judgeHost(closed, 'team-a', host)).toMatchObject({ kind: 'denied', reason: 'internal-name' });
  });

  test.each(internalNames)('%s is an internal name: to be resolved where a range is open', (host) => {
    const rules = parseAddressRules([{ cidr: '10.0.0.0/8', namespaces: ['team-a'] }]);
    expect(judgeHost(rules, 'team-a', host)).toMatchObject({ kind: 'name', isInternal: true });
    expect(judgeHost(rules, 'team-b', host)).toMatchObject({ kind: 'denied', reason: 'internal-name' });
  });

  test.each([
    ['API.OpenAI.com', 'api.openai.com'],
    ['api.openai.com.', 'api.openai.com'],
    ['bücher.example', 'xn--bcher-kva.example'],
    ['svc.example', 'svc.example'],
    ['mysvc.example', 'mysvc.example'],
    ['notlocalhost.example', 'notlocalhost.example'],
    ['cluster.local.example', 'cluster.local.example'],
    ['10.0.0.1.nip.io', '10.0.0.1.nip.io'],
  ])('%s is the ordinary name %s', (host, name) => {
    expect(judgeHost(closed, 'team-a', host)).toEqual({ kind: 'name', name, isInternal: false });
  });
});

describe('answers of a resolver', () => {
  const rules = parseAddressRules([{ cidr: '10.20.0.0/16', namespaces: ['team-a'] }]);
  const publicAddress = '93.184.216.34';

  function judge(against: AddressRules, name: string, addresses: string[], namespace = 'team-a') {
    const host = judgeHost(against, namespace, name);
    return host.kind === 'name' ? judgeAnswers(against, namespace, host, addresses) : host;
  }

  test.each<[string, string, string[], string]>([
    ['public addresses', 'api.example', [publicAddress, '2606:4700::1'], 'reachable'],
    ['an opened address', 'api.example', ['10.20.0.1'], 'reachable'],
    ['public and opened', 'api.example', ['10.20.0.1', publicAddress], 'reachable'],
    ['public, then private', 'api.example', [publicAddress, '10.0.0.1'], 'private'],
    ['private, then public', 'api.example', ['10.0.0.1', publicAddress], 'private'],
    ['one mapped among public', 'api.example', [publicAddress, '::ffff:93.184.216.34'], 'embedded-ipv4'],
    ['metadata among opened', 'api.example', ['10.20.0.1', '169.254.169.254'], 'metadata'],
    ['with a zone id', 'api.example', ['fe80::1%eth0'], 'zone-id'],
    ['nothing', 'api.example', [], 'no-address'],
    ['opened, internal name', 'vllm.team-a.svc', ['10.20.0.1'], 'reachable'],
    ['opened and public, internal name', 'vllm.team-a.svc', ['10.20.0.1', publicAddress], 'internal-name'],
    ['public, internal name', 'vllm.team-a.svc', [publicAddress], 'internal-name'],
    ['private, internal name', 'vllm.team-a.svc', ['10.99.0.1'], 'private'],
  ])('%s: %s -> %j is %s', (_what, name, addresses, expected) => {
    const verdict = judge(rules, name, addresses);
    expect(verdict.kind === 'denied' ? verdict.reason : verdict.kind).toBe(expected);
  });

  test('the addresses keep the order of the answer', () => {
    const verdict = judge(rules, 'api.example', ['2606:4700::1', publicAddress, '10.20.0.1']);
    expect(verdict.kind === 'reachable' && verdict.addresses.map(({ address }) => address)).toEqual([
      '2606:4700::1',
      publicAddress,
      '10.20.0.1',
    ]);
  });
});

test('a refusal names the address, the reason and the remedy', () => {
  const sentences = ['10.1.2.3', 'vllm.ai.svc', '[::ffff:10.1.2.3]', '169.254.169.254'].map((host) => {
    const verdict = judgeHost(closed, 'team-a', host);
    return verdict.kind === 'denied' ? verdict.sentence : verdict.kind;
  });
  expect(sentences).toEqual([
    '10.1.2.3 is a private address, and no TenantPolicy opens it to namespace team-a; use a public address, or ask the platform team to add it to spec.egress.allow of a TenantPolicy.',
    'vllm.ai.svc is a cluster-internal name, and no TenantPolicy opens a range to namespace team-a; use a public name, or ask the platform team to add it to spec.egress.allow of a TenantPolicy.',
    '::ffff:a01:203 is an IPv4-mapped address, which can never be opened; write the IPv4 address itself.',
    '169.254.169.254 is a cloud metadata address, which can never be opened; name a model server.',
  ]);
});
