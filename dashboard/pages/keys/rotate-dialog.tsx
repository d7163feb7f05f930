// For how long do the old key and the new one work side by side? Then the new one is made: here, or by the operator where the old one was.

import { useState } from 'preact/hooks';
import { Button, Notice } from '../parts/basics.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { SelectField } from '../parts/fields.tsx';
import { kubePath } from '../shell/asking.tsx';
import { useShell } from '../shell/context.tsx';
import { patchSeen } from '../shell/patch-seen.ts';
import type { ApiKey } from '../words/kube.ts';
import { type KeyYaml, KeyYamlDialog } from './key-yaml.tsx';
import { type MintedKey, mintRandomKey } from './mint-key.ts';
import { isImported, OVERLAPS, rotatedManifest, rotatedPatch } from './rotate.ts';

interface RotateDialogProps {
  readonly apiKey: ApiKey;
  readonly canMint: boolean;
  readonly onClose: () => void;
  /** A new key was made here. @param before RFC 3339: until when the old one works. */
  readonly whenMinted: (minted: MintedKey, before: string) => void;
  /** The operator makes it. */
  readonly whenAsked: () => void;
}

export function RotateDialog({ apiKey, canMint, onClose, whenMinted, whenAsked }: RotateDialogProps) {
  const { api, session } = useShell();
  const [hours, setHours] = useState('24');
  const [problem, setProblem] = useState<string | undefined>(undefined);
  const [isSending, setSending] = useState(false);
  const [yaml, setYaml] = useState<KeyYaml | undefined>(undefined);
  const { namespace, name } = apiKey.metadata;
  const imported = isImported(apiKey);
  const overlapHours = Number(hours);
  const mint = async () => (imported ? await mintRandomKey(session.keyPrefix) : undefined);

  const rotate = async () => {
    if (isSending) return;
    setSending(true);
    setProblem(undefined);
    const nowMs = Date.now();
    try {
      const minted = await mint();
      const body = rotatedPatch(apiKey, { overlapHours, nowMs, minted });
      await patchSeen(api, kubePath('apikeys', namespace, name), apiKey, body);
      if (minted === undefined) whenAsked();
      else whenMinted(minted, new Date(nowMs + overlapHours * 3_600_000).toISOString());
    } catch (error) {
      setProblem((error as Error).message);
      setSending(false);
    }
  };
  const view = async () => {
    setProblem(undefined);
    try {
      const minted = await mint();
      setYaml({ minted, object: rotatedManifest(apiKey, { overlapHours, nowMs: Date.now(), minted }) });
    } catch (error) {
      setProblem((error as Error).message);
    }
  };

  const isPossible = !imported || canMint;
  return (
    <Dialog title={`Rotate ${name}`} onClose={onClose}>
      <form
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          if (isPossible) void rotate();
        }}
      >
        <p>
          {imported
            ? 'A new key is made in this browser and shown once. The old one works on for the overlap, so that clients can move.'
            : 'The operator writes a new key into the Secret. The old one works on for the overlap, so that clients can read the new one.'}
        </p>
        <SelectField
          label="Overlap"
          value={hours}
          onInput={setHours}
          options={OVERLAPS.map((overlap) => ({ value: String(overlap.hours), label: overlap.label }))}
        />
        {hours === '0' && (
          <Notice tone="warn">
            <p>Whoever uses the old key is refused within a second. Choose this where the key has leaked.</p>
          </Notice>
        )}
        {!isPossible && (
          <Notice tone="warn">
            <p>This page came over plain http, where browsers make no keys. Open it over https.</p>
          </Notice>
        )}
        {problem !== undefined && (
          <Notice tone="bad" title="The key was not rotated">
            <p>{problem}</p>
          </Notice>
        )}
        <div class="row end">
          <Button look="quiet" disabled={!isPossible} onClick={() => void view()}>
            View as YAML
          </Button>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look="main" disabled={isSending || !isPossible}>
            {isSending ? 'Rotating…' : 'Rotate'}
          </Button>
        </div>
      </form>
      {yaml !== undefined && <KeyYamlDialog yaml={yaml} onClose={() => setYaml(undefined)} />}
    </Dialog>
  );
}
