// What would somebody apply by themselves? The ApiKey as YAML; of a key that was made for it here, the key stands beside it, since the YAML
// holds its hash alone and nobody else has it.

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
      note={
        minted === undefined
          ? note
          : 'Ready for kubectl apply -f and for Git. Its new key was made for this YAML alone, and is shown here and nowhere else:'
      }
      onClose={onClose}
    >
      {minted !== undefined && <Code text={minted.key} label="The new key" />}
    </YamlDialog>
  );
}
