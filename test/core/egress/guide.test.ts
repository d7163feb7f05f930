// Does the guide name every range that the guard knows, and no other?

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import {
  deniedRanges,
  metadataAddresses,
  publicIpv6Cidr,
  unopenableRanges,
} from '../../../core/egress/address-ranges.ts';

const guide = readFileSync(join(import.meta.dirname, '../../../docs/guides/providers-and-keys.md'), 'utf8');
const [, never = '', refused = ''] = guide.split(
  /\n### Addresses that are (?:always refused|refused by default)/,
);
const cidrsIn = (text: string) => [...text.matchAll(/`([0-9a-f.:]+\/\d+)`/g)].map(([, cidr]) => cidr);

test('addresses that are always refused', () => {
  expect(cidrsIn(never).toSorted()).toEqual(unopenableRanges.map(({ cidr }) => cidr).toSorted());
  const addresses = [...never.matchAll(/`([0-9a-f.:]+)`/g)].map(([, address]) => address);
  expect(addresses.toSorted()).toEqual([...metadataAddresses].toSorted());
});

test('addresses that are refused by default', () => {
  const known = [...deniedRanges.map(({ cidr }) => cidr), publicIpv6Cidr];
  expect(cidrsIn(refused).toSorted()).toEqual(known.toSorted());
});
