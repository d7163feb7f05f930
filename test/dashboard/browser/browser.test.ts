// Does the dashboard do in a browser what it says? With everything real, from signing in on.

import { describe } from 'vitest';
import { runs } from '../../support/runs.ts';
import { keysSuite } from './keys.ts';
import { requestsSuite } from './requests.ts';
import { routesSuite } from './routes.ts';
import { useStage } from './stage.ts';
import { tenantsSuite } from './tenants.ts';
import { viewsSuite } from './views.ts';

const stage = useStage();

describe('a key that is made in the page', () => keysSuite(stage));
describe('people of different rights', () => tenantsSuite(stage));
describe('providers and routes', () => routesSuite(stage));
describe('single requests', () => requestsSuite(stage));
describe('every view', () => viewsSuite(stage, runs(3, 3)));
