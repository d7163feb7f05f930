// What can people do with the dashboard, over a real API server? One of them for all suites: it costs more than all that is asked of it.

import { beforeAll, describe } from 'vitest';
import { useControlPlane } from '../cluster/control-plane.ts';
import { installCrds } from '../cluster/install.ts';
import { makePeople, type People } from './house.ts';
import { ledgerSuite } from './ledger.ts';
import { oidcSuite } from './oidc.ts';
import { processSuite } from './process.ts';
import { rightsSuite } from './rights.ts';
import { signInSuite } from './sign-in.ts';

const plane = useControlPlane({ hasControllers: false, isOwn: true });
let people: People;

beforeAll(async () => {
  await installCrds(plane());
  people = await makePeople(plane());
});

describe('rights', () => rightsSuite(plane, () => people));
describe('signing in', () => signInSuite(plane, () => people));
describe('the ledger', () => ledgerSuite(plane, () => people));
describe('the process', () => processSuite(plane, () => people));
describe('an issuer', () => oidcSuite(plane));
