// Which targets are there?

import { direct } from './direct.ts';
import { envoy } from './envoy.ts';
import { floor } from './floor.ts';
import { gateway } from './gateway.ts';
import { nginx } from './nginx.ts';
import type { Target, TargetName } from './target.ts';

export const targets: Readonly<Record<TargetName, Target>> = { direct, nginx, envoy, floor, gateway };
