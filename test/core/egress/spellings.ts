// Known addresses in every spelling that somebody could try, and a second judge of them, written as plain integer arithmetic and
// sharing nothing with the first: no table, no BlockList, no URL parser. The generator starts from the number, so it never has to
// parse either.

import { pick, type Random } from '../../security/random.ts';

export type Judged = 'denied' | 'public' | 'allowlisted';

export interface Spelling {
  readonly value: bigint;
  readonly isV4: boolean;
  /** As the host of a URL. */
  readonly text: string;
  /** By the second judge, with 10.20.0.0/16 opened. */
  readonly expected: Judged;
}

export const opened = '10.20.0.0/16';

export function nextSpelling(random: Random): Spelling {
  const isV4 = random(2) === 0;
  const value = isV4 ? pickV4(random) : pickV6(random);
  const text = isV4 ? spellV4(value, random) : spellV6(value, random);
  return { value, isV4, text, expected: isV4 ? judgeV4ByNumber(value) : judgeV6ByNumber(value) };
}

function randomBits(random: Random, bits: number): bigint {
  let value = 0n;
  for (let done = 0; done < bits; done += 16) value = (value << 16n) | BigInt(random(65_536));
  return BigInt.asUintN(bits, value);
}

const v4Bases: readonly [string, ...string[]] = [
  '00000000',
  '0a000000',
  '0a140000',
  '0a150000',
  '64400000',
  '64800000',
  '7f000001',
  'a9fea9fe',
  'a9feaa02',
  'a83f8110',
  'a83f8111',
  '646464c8',
  'c00000c0',
  'ac100000',
  'ac200000',
  'c0000000',
  'c0000200',
  'c0586300',
  'c0a80000',
  'c6120000',
  'c6140000',
  'c6336400',
  'cb007100',
  'e0000000',
  'f0000000',
  'ffffffff',
  '08080808',
  '5db8d822',
];

/** An edge of a range, one beside it, a near neighbour, or anything at all. */
function pickV4(random: Random): bigint {
  const base = BigInt(`0x${pick(random, v4Bases)}`);
  const shift = pick(random, [0n, 0n, -1n, 1n, randomBits(random, 8), randomBits(random, 16)]);
  return random(4) === 0 ? randomBits(random, 32) : BigInt.asUintN(32, base + shift);
}

const v6Bases: readonly [string, ...string[]] = [
  '0',
  '1',
  'ffff0000000000',
  'ffff00000000',
  '64ff9b000000000000000000000000',
  '64ff9b000100000000000000000000',
  '20020000000000000000000000000000',
  '20010000000000000000000000000000',
  '20010200000000000000000000000000',
  '20010db8000000000000000000000000',
  '20010db9000000000000000000000000',
  '3fff0000000000000000000000000000',
  '3fff1000000000000000000000000000',
  '40000000000000000000000000000000',
  '1fffffffffffffffffffffffffffffff',
  'fc000000000000000000000000000000',
  'fe800000000000000000000000000000',
  'fec00000000000000000000000000000',
  'ff000000000000000000000000000000',
  'fd000ec2000000000000000000000254',
  '26064700000000000000000068108505',
  '2a000000000000000000000000000000',
  'fe80000000000000000000000000a9fe',
];

function pickV6(random: Random): bigint {
  const base = BigInt(`0x${pick(random, v6Bases)}`);
  const shift = pick(random, [0n, -1n, 1n, pickV4(random), randomBits(random, 64)]);
  return random(6) === 0 ? randomBits(random, 128) : BigInt.asUintN(128, base + shift);
}

/** One to four parts, each decimal, octal or hex, padded; now and then a trailing dot, full-width or percent-encoded. */
function spellV4(value: bigint, random: Random): string {
  const parts = 1 + random(4);
  const texts: string[] = [];
  for (let index = 0; index < parts; index += 1) {
    const bits = index < parts - 1 ? 8n : BigInt(8 * (5 - parts));
    const from = index < parts - 1 ? BigInt(24 - 8 * index) : 0n;
    texts.push(spellNumber((value >> from) & ((1n << bits) - 1n), random));
  }
  let text = texts.join(pick(random, ['.', '.', '.', '。', '．']));
  if (random(8) === 0) text += '.';
  if (random(8) === 0) text = text.replace(/[0-9]/g, (digit) => String.fromCodePoint(0xff10 + Number(digit)));
  if (random(8) === 0) text = text.replace(/[0-9a-f.]/g, (char) => `%${char.charCodeAt(0).toString(16)}`);
  return text;
}

function spellNumber(value: bigint, random: Random): string {
  const zeros = '0'.repeat(random(3) === 0 ? random(4) : 0);
  const hex = value.toString(16);
  switch (random(4)) {
    case 0:
      return `0x${zeros}${random(2) === 0 ? hex : hex.toUpperCase()}`;
    case 1:
      return `0${zeros}${value.toString(8)}`;
    default:
      return value.toString(10);
  }
}

/** Eight groups, padded or not, upper or lower; a run of zeros cut short; the last two groups as dotted IPv4; brackets. */
function spellV6(value: bigint, random: Random): string {
  const groups = Array.from({ length: 8 }, (_, index) => (value >> BigInt(112 - 16 * index)) & 0xffffn);
  const texts = groups.map((group) => {
    const text = random(3) === 0 ? group.toString(16).padStart(4, '0') : group.toString(16);
    return random(2) === 0 ? text : text.toUpperCase();
  });
  if (random(3) === 0) {
    const low = value & 0xffffffffn;
    texts.splice(6, 2, [24n, 16n, 8n, 0n].map((by) => ((low >> by) & 0xffn).toString()).join('.'));
  }
  let text = texts.join(':');
  const runs = [...text.matchAll(/(?:^|(?<=:))0+(?::0+)+(?=:|$)/g)];
  const run = runs[random(Math.max(1, runs.length))];
  if (run !== undefined && random(3) > 0) {
    const before = text.slice(0, run.index).replace(/:$/, '');
    const after = text.slice(run.index + run[0].length).replace(/^:/, '');
    text = `${before}::${after}`;
  }
  return random(2) === 0 ? `[${text}]` : text;
}

function judgeV4ByNumber(value: bigint): Judged {
  const number = Number(value);
  const [a, b, c] = [
    Math.floor(number / 2 ** 24),
    Math.floor(number / 65_536) % 256,
    Math.floor(number / 256) % 256,
  ];
  const metadata = [
    0xa9fea9fe, 0xa9feaa02, 0xa9feaa17, 0xa9fe2a2a, 0xa9fe0017, 0xa83f8110, 0x646464c8, 0xc00000c0,
  ];
  if (metadata.includes(number)) return 'denied';
  if (a === 10 && b === 20) return 'allowlisted';
  if (a === 0 || a === 10 || a === 127 || a >= 224) return 'denied';
  if (a === 100 && b >= 64 && b < 128) return 'denied';
  if (a === 169 && b === 254) return 'denied';
  if (a === 172 && b >= 16 && b < 32) return 'denied';
  if (a === 192 && (b === 168 || (b === 0 && (c === 0 || c === 2)) || (b === 88 && c === 99)))
    return 'denied';
  if (a === 198 && (b === 18 || b === 19 || (b === 51 && c === 100))) return 'denied';
  if (a === 203 && b === 0 && c === 113) return 'denied';
  return 'public';
}

function judgeV6ByNumber(value: bigint): Judged {
  const first = value >> 112n;
  const second = (value >> 96n) & 0xffffn;
  // Everything of use lies in 2000::/3; mapped, NAT64, local and multicast forms all lie outside.
  if (first < 0x2000n || first > 0x3fffn) return 'denied';
  if (first === 0x2001n && (second < 0x200n || second === 0xdb8n)) return 'denied';
  if (first === 0x2002n) return 'denied';
  if (first === 0x3fffn && second < 0x1000n) return 'denied';
  return 'public';
}

/** The number of a canonical address. */
export function readBack(address: string): bigint {
  if (!address.includes(':')) {
    return address.split('.').reduce((value, part) => (value << 8n) | BigInt(part), 0n);
  }
  const [head = '', tail] = address.split('::');
  const before = head === '' ? [] : head.split(':');
  const after = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => '0');
  return [...before, ...zeros, ...after].reduce((value, group) => (value << 16n) | BigInt(`0x${group}`), 0n);
}
