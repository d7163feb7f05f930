// What is known about one key, and what can be done with it?

import { useState } from 'preact/hooks';
import { Ago, Badge, Facts, LastUsed, Notice, Prose } from '../parts/basics.tsx';
import { Conditions } from '../parts/conditions.tsx';
import { Loaded } from '../parts/loaded.tsx';
import { Crumbs, ObjectDialogs, ObjectHead, useObjectPage } from '../parts/object-page.tsx';
import { SeeRequests } from '../requests/see-requests.tsx';
import { useNow } from '../shell/asking.tsx';
import { useShell } from '../shell/context.tsx';
import { useKept } from '../shell/leaving.tsx';
import type { ApiKey } from '../words/kube.ts';
import { statusOf } from '../words/object-status.ts';
import { EditKeyDialog } from './edit-dialog.tsx';
import { KeyMade, UseKey } from './key-made.tsx';
import type { MintedKey } from './mint-key.ts';
import { canMint } from './new-key.tsx';
import { placeOfKey } from './read-key.ts';
import { holds, isImported, versionsOf } from './rotate.ts';
import { type RotateAttempt, RotateDialog } from './rotate-dialog.tsx';
import { ReadKey } from './secret-made.tsx';
import { Spend } from './spend.tsx';
import { budgetWords, exhaustedWords, limitWords } from './words.ts';

export function KeyDetails({ namespace, name }: { readonly namespace: string; readonly name: string }) {
  const { session, formats, announce } = useShell();
  const nowMs = useNow();
  const { shown, may, change, open, setOpen } = useObjectPage<ApiKey, 'edit' | 'rotate'>(
    'apikeys',
    namespace,
    name,
  );
  const [rotated, setRotated] = useState<MintedKey | undefined>(undefined);
  // A rotation without an answer: its key may be in use.
  const [attempt, setAttempt] = useState<RotateAttempt | undefined>(undefined);
  const sent = attempt?.minted;
  const late = sent && shown.object && holds(shown.object, sent) ? sent : undefined;
  const minted = rotated ?? late;
  useKept(sent !== undefined && minted === undefined);

  return (
    <>
      <Crumbs list="/keys" title="Keys" namespace={namespace} />
      <Loaded shown={shown} what={`The key ${name}`} title={name}>
        {(key) => {
          const status = statusOf(key);
          const said =
            status.word === 'Budget used up'
              ? (exhaustedWords(key, formats, nowMs) ?? status.message)
              : status.message;
          const imported = isImported(key);
          const place = placeOfKey(session.mode, namespace, name, key);
          if (minted !== undefined)
            return (
              <>
                <h1 tabIndex={-1}>{name}</h1>
                <KeyMade
                  minted={minted}
                  isRotated
                  namespace={namespace}
                  name={name}
                  whenDone={() => {
                    setRotated(undefined);
                    setAttempt(undefined);
                    setOpen(undefined);
                  }}
                />
              </>
            );
          return (
            <>
              <ObjectHead
                plural="apikeys"
                object={key}
                status={status}
                may={may}
                actions={[
                  { label: 'Edit', right: 'patch apikeys', onClick: () => setOpen('edit') },
                  { label: 'Rotate', right: 'patch apikeys', onClick: () => setOpen('rotate') },
                ]}
                onOpen={setOpen}
                change={change}
              />
              {said !== undefined && (
                <Notice tone={status.tone}>
                  <p>
                    <Prose text={said} />
                  </p>
                </Notice>
              )}
              <div class="columns">
                <section class="panel" aria-labelledby="facts-heading">
                  <h2 id="facts-heading">Details</h2>
                  <Facts
                    facts={[
                      [
                        'Hint',
                        (key.status?.keyHint ?? key.spec.imports?.at(-1)?.hint) ? (
                          <code>{key.status?.keyHint ?? key.spec.imports?.at(-1)?.hint}</code>
                        ) : (
                          '–'
                        ),
                      ],
                      [
                        'Owner',
                        [key.spec.owner?.name, key.spec.owner?.team, key.spec.owner?.email]
                          .filter(Boolean)
                          .join(' · ') || '–',
                      ],
                      [
                        'Created by',
                        imported ? (
                          'the dashboard, or imported; only its hash is stored'
                        ) : (
                          <>
                            {session.mode === 'local' ? 'this machine' : 'the operator'}, in the {place.kind}{' '}
                            <code>{place.name}</code>
                          </>
                        ),
                      ],
                      [
                        'Models',
                        key.spec.models?.allow?.length
                          ? key.spec.models.allow.join(', ')
                          : 'all visible to the namespace',
                      ],
                      ...(key.spec.models?.deny?.length
                        ? [['Denied', key.spec.models.deny.join(', ')] as const]
                        : []),
                      ['Limits', limitWords(key.spec.limits, formats) || 'none'],
                      ['Budgets', budgetWords(key.spec.budgets, formats) || 'none'],
                      ['Created', <Ago key="created" at={key.metadata.creationTimestamp} />],
                      ['Last used', <LastUsed key="used" at={key.status?.usage?.lastUsedAt} />],
                      [
                        'Expires',
                        (key.status?.expiresAt ?? key.spec.expiresAt)
                          ? formats.time(key.status?.expiresAt ?? key.spec.expiresAt ?? '')
                          : 'never',
                      ],
                      ...(key.status?.nextRotationAt
                        ? [['Next rotation', formats.time(key.status.nextRotationAt)] as const]
                        : []),
                    ]}
                  />
                  <Versions apiKey={key} />
                </section>
                <section class="panel" aria-labelledby="spend-heading">
                  <h2 id="spend-heading">Spend</h2>
                  <Spend apiKey={key} />
                  <SeeRequests of={{ apiKey: `${namespace}/${name}` }} />
                </section>
              </div>
              <section class="panel" aria-labelledby="conditions-heading">
                <h2 id="conditions-heading">Status</h2>
                <Conditions
                  conditions={status.conditions}
                  programmed={key.status?.programmed}
                  said={status.message}
                />
              </section>
              {!imported && (
                <section class="panel" aria-labelledby="secret-heading">
                  <h2 id="secret-heading">Read the key</h2>
                  <ReadKey place={place} />
                </section>
              )}
              {!['Disabled', 'Expired'].includes(status.word) && <UseKey namespace={namespace} name={name} />}
              {open === 'edit' && (
                <EditKeyDialog
                  apiKey={key}
                  onClose={() => setOpen(undefined)}
                  whenDone={() => {
                    setOpen(undefined);
                    shown.again();
                  }}
                />
              )}
              {open === 'rotate' && (
                <RotateDialog
                  apiKey={key}
                  canMint={canMint}
                  unanswered={attempt}
                  onClose={() => setOpen(undefined)}
                  whenUnknown={setAttempt}
                  whenMinted={(made) => {
                    setOpen(undefined);
                    setAttempt(undefined);
                    setRotated(made);
                  }}
                  whenAsked={(words) => {
                    setOpen(undefined);
                    setAttempt(undefined);
                    shown.again();
                    announce(words);
                  }}
                />
              )}
              <ObjectDialogs
                plural="apikeys"
                object={key}
                change={change}
                open={open}
                onClose={() => setOpen(undefined)}
                what="key"
                list="/keys"
              >
                <p>
                  Calls with this key are refused, usually within a second. Its usage stays in the ledger.
                </p>
              </ObjectDialogs>
            </>
          );
        }}
      </Loaded>
    </>
  );
}

function Versions({ apiKey }: { readonly apiKey: ApiKey }) {
  const { formats } = useShell();
  const nowMs = useNow();
  const versions = versionsOf(apiKey, nowMs);
  if (versions.length < 2) return null;
  return (
    <>
      <h3>Active secrets</h3>
      <ul class="plain-list">
        {versions.map(({ id, name, state, notAfter }) => (
          <li key={id}>
            <Badge tone={state === 'Active' ? 'good' : state === 'Retiring' ? 'busy' : 'off'}>
              {{ Active: 'Current', Retiring: 'Retiring', Expired: 'Expired' }[state] ?? state}
            </Badge>{' '}
            <code>{name}</code>{' '}
            {notAfter !== undefined && <span class="faint">until {formats.time(notAfter)}</span>}
          </li>
        ))}
      </ul>
    </>
  );
}
