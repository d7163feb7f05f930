// What would one apply by hand? The ApiKey as YAML, and beside it the new key: the YAML holds only its hash.

import { Code } from '../parts/basics.tsx';
import { YamlDialog } from '../parts/dialog.tsx';
import type { MintedKey } from './mint-key.ts';

export interface KeyYaml {
  readonly object: object;
  /** Undefined: the operator makes the key. */
  readonly minted: MintedKey | undefined;
}

interface KeyYamlDialogProps {
  readonly yaml: KeyYaml;
  /** Of a key that the operator makes. */
  readonly note?: string;
  readonly onClose: () => void;
}

export function KeyYamlDialog({ yaml: { object, minted }, note, onClose }: KeyYamlDialogProps) {
  return (
    <YamlDialog
      objects={[object]}
      note={minted === undefined ? note : 'The new key belongs to this YAML and is shown only here:'}
      onClose={onClose}
    >
      {minted !== undefined && <Code text={minted.key} label="New key" />}
    </YamlDialog>
  );
}
