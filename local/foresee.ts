// Would a change of one file keep all manifests from being taken? Asked before it is made.

import type { Deployer } from './deploy.ts';
import type { FileChange, ManifestReader } from './manifest-reader.ts';
import { type Manifests, overlayManifests } from './manifests.ts';

interface ForesightParts {
  readonly reader: ManifestReader;
  readonly deployer: Pick<Deployer, 'foresee'>;
  /** Objects without a file. */
  environment(): Manifests;
}

/** Why they would not be taken any more, in words; none: they would be, or are not as it is, and the change may be what mends them. */
export type Foresee = (change: FileChange) => Promise<readonly string[]>;

export function createForesight({ reader, deployer, environment }: ForesightParts): Foresee {
  const problemsOf = async (manifests: Manifests): Promise<readonly string[]> => {
    try {
      const problems = await deployer.foresee(overlayManifests(manifests, environment()));
      return problems.map(({ text }) => text);
    } catch (error) {
      // As with a deploy: manifests that cannot be compiled at all.
      return [error instanceof Error ? error.message : String(error)];
    }
  };
  return async (change) => {
    const problems = await problemsOf(await reader.after(change));
    if (problems.length === 0) return [];
    const isHeldBack = (await problemsOf(await reader.now())).length > 0;
    return isHeldBack ? [] : problems;
  };
}
