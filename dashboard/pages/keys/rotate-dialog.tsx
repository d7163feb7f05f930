// How long do the old and the new key overlap? Then the new one is created, where the old one was: here or by the operator.

import { useState } from 'preact/hooks';
import { Button, Notice } from '../parts/basics.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { SelectField } from '../parts/fields.tsx';
import { kubePath } from '../shell/asking.tsx';
import { useShell } from '../shell/context.tsx';
import { patchSeen } from '../shell/patch-seen.ts';
import { type NotDone, sendSurely } from '../shell/send-surely.ts';
import { serverClock } from '../shell/server-clock.ts';
import type { ApiKey } from '../words/kube.ts';
import { type KeyYaml, KeyYamlDialog } from './key-yaml.tsx';
import { type MintedKey, mintRandomKey } from './mint-key.ts';
import {
  holds,
  isImported,
  isWithoutOverlap,
  overlapsFor,
  type Rotation,
  rotatedManifest,
  rotatedPatch,
  triggerAt,
  waitOf,
} from './rotate.ts';

/** The change: the same at each try, so that it may arrive twice. */
export interface RotateAttempt {
  readonly minted: MintedKey | undefined;
  readonly trigger: string;
}

interface RotateDialogProps {
  readonly apiKey: ApiKey;
  readonly canMint: boolean;
  /** Was sent before, and it is not known what became of it. */
  readonly unanswered: RotateAttempt | undefined;
  readonly onClose: () => void;
  readonly whenUnknown: (attempt: RotateAttempt) => void;
  /** A new key was made here. */
  readonly whenMinted: (minted: MintedKey) => void;
  /** The operator makes it. @param words when. */
  readonly whenAsked: (words: string) => void;
}

export function RotateDialog({
  apiKey,
  canMint,
  unanswered,
  onClose,
  whenUnknown,
  whenMinted,
  whenAsked,
}: RotateDialogProps) {
  const { api, session, formats } = useShell();
  const imported = isImported(apiKey);
  const [overlap, setOverlap] = useState(imported ? '24' : '');
  const [failed, setFailed] = useState<NotDone | undefined>(undefined);
  const [isSending, setSending] = useState(false);
  const [yaml, setYaml] = useState<KeyYaml | undefined>(undefined);
  const { namespace, name } = apiKey.metadata;
  const begin = async (): Promise<RotateAttempt> => ({
    minted: imported ? await mintRandomKey(session.keyPrefix) : undefined,
    trigger: triggerAt(serverClock.now()),
  });
  const rotationOf = ({ minted, trigger }: RotateAttempt): Rotation =>
    minted === undefined
      ? { minted, trigger, overlapHours: overlap === '' ? undefined : Number(overlap) }
      : { minted, nowMs: serverClock.now(), overlapHours: Number(overlap) };
  const fail = (error: unknown) => setFailed({ is: 'refused', message: (error as Error).message });

  const rotate = async () => {
    if (isSending) return;
    setSending(true);
    setFailed(undefined);
    try {
      const attempt = unanswered ?? (await begin());
      const { minted, trigger } = attempt;
      const body = rotatedPatch(apiKey, rotationOf(attempt));
      const path = kubePath('apikeys', namespace, name);
      const sent = await sendSurely({
        send: () => patchSeen(api, path, apiKey, body),
        wasDone: async () => {
          const there = await api.call<ApiKey>(path);
          return minted === undefined ? there.spec.rotation?.trigger === trigger : holds(there, minted);
        },
        isAgain: unanswered !== undefined,
      });
      if (sent.is === 'done') {
        if (minted === undefined) whenAsked(wait ?? 'A new key is being created.');
        else whenMinted(minted);
        return;
      }
      if (sent.is === 'unknown') whenUnknown(attempt);
      setFailed(sent);
    } catch (error) {
      fail(error);
    }
    setSending(false);
  };
  const view = async () => {
    setFailed(undefined);
    try {
      const attempt = await begin();
      setYaml({ minted: attempt.minted, object: rotatedManifest(apiKey, rotationOf(attempt)) });
    } catch (error) {
      fail(error);
    }
  };

  // Local mode issues keys once.
  const isKept = !imported && session.mode === 'local';
  const wait = imported || isKept ? undefined : waitOf(apiKey, overlap, serverClock.now(), formats.time);
  const isWithout = isWithoutOverlap(apiKey, overlap);
  const isPossible = imported ? canMint : !isKept;
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
            ? 'A new key is created in this browser and shown once. The old key works for the overlap, so that clients can move.'
            : isKept
              ? 'This key is kept in a file on this machine.'
              : 'The operator writes a new key to the Secret. The old key works for the overlap, so that clients can pick up the new one.'}
        </p>
        <SelectField
          label="Overlap"
          value={overlap}
          onInput={setOverlap}
          options={overlapsFor(apiKey)}
          hint={
            imported || overlap === ''
              ? undefined
              : 'Saved in the ApiKey: it also applies to scheduled rotations and to one in progress.'
          }
        />
        {wait !== undefined && (
          <Notice tone="warn">
            <p>
              {wait}
              {!isWithout && ' If the key has leaked, choose none.'}
            </p>
          </Notice>
        )}
        {wait === undefined && isWithout && (
          <Notice tone="warn">
            <p>The old key is refused, usually within a second. Choose this if it has leaked.</p>
          </Notice>
        )}
        {isKept && (
          <Notice tone="warn">
            <p>Keys in files cannot be rotated in local mode. Create another key and delete this one.</p>
          </Notice>
        )}
        {imported && !canMint && (
          <Notice tone="warn">
            <p>Browsers create keys on https pages only. Open this page over https.</p>
          </Notice>
        )}
        {failed !== undefined && (
          <Notice
            tone="bad"
            title={failed.is === 'unknown' ? 'The key may have been rotated' : 'The key was not rotated'}
          >
            <p>
              {failed.message}
              {failed.is === 'unknown' && ' Rotate it again: the same key is sent, never a second one.'}
            </p>
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
