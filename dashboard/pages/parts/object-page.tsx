// What do all pages about one object share? The heading with its actions, the YAML, and the deletion.

import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { kubePath, type May, useObject, useRights } from '../shell/asking.tsx';
import { Link, useShell } from '../shell/context.tsx';
import type { Tone } from '../words/conditions.ts';
import { KINDS, type KubeObject, type Plural } from '../words/kube.ts';
import { asManifest } from '../words/manifest.ts';
import type { ObjectStatus } from '../words/object-status.ts';
import { type Action, Actions, Ago, Badge, Prose } from './basics.tsx';
import { NotDone, useChange } from './change.tsx';
import { ConfirmDialog } from './confirm-dialog.tsx';
import { DeleteDialog } from './delete-dialog.tsx';
import { YamlDialog } from './dialog.tsx';

type ObjectDialog = 'delete' | 'yaml' | 'stop';
type Change = ReturnType<typeof useChange>;

/** State and actions of such a page. @template More further dialogs of the page. */
export function useObjectPage<Kind extends KubeObject, More extends string = never>(
  plural: Plural,
  namespace: string,
  name: string,
) {
  const shown = useObject<Kind>(plural, namespace, name);
  const may = useRights(namespace);
  const change = useChange(shown.again);
  const [open, setOpen] = useState<ObjectDialog | More | undefined>(undefined);
  return { shown, may, change, open, setOpen };
}

interface CrumbsProps {
  /** Its list, and the name of the list. */
  readonly list: string;
  readonly title: string;
  readonly namespace: string;
}

export function Crumbs({ list, title, namespace }: CrumbsProps) {
  return (
    <p class="crumbs">
      <Link to={list}>{title}</Link> <span aria-hidden="true">/</span> {namespace}
    </p>
  );
}

interface ObjectHeadProps {
  readonly plural: Plural;
  readonly object: KubeObject;
  readonly status: ObjectStatus;
  readonly may: May;
  /** In front of those that every object has. */
  readonly actions: readonly Action[];
  readonly onOpen: (dialog: ObjectDialog) => void;
  readonly change: Change;
}

export function ObjectHead({ plural, object, status, may, actions, onOpen, change }: ObjectHeadProps) {
  return (
    <>
      <div class="head">
        <h1 tabIndex={-1}>
          {object.metadata.name} <Badge tone={status.tone}>{status.word}</Badge>
        </h1>
        <Actions
          may={may}
          actions={[
            ...actions,
            stopAction(change, plural, object, onOpen),
            {
              label: 'Delete',
              right: `delete ${plural}`,
              look: 'danger',
              onClick: () => onOpen('delete'),
            },
            {
              label: 'View as YAML',
              right: `get ${plural}`,
              look: 'quiet',
              onClick: () => onOpen('yaml'),
            },
          ]}
        />
      </div>
      <NotDone problem={change.problem} />
    </>
  );
}

interface ObjectDialogsProps {
  readonly plural: Plural;
  readonly object: KubeObject;
  readonly change: Change;
  /** Others are the page's own. */
  readonly open: string | undefined;
  readonly onClose: () => void;
  /** As in "Delete the key ci-bot". */
  readonly what: string;
  /** The list that it stood in. */
  readonly list: string;
  /** What its end means. */
  readonly children: ComponentChildren;
}

export function ObjectDialogs(props: ObjectDialogsProps) {
  const { plural, object, change, open, onClose, what, list, children } = props;
  const { go } = useShell();
  const { namespace, name } = object.metadata;
  if (open === 'yaml') return <YamlDialog objects={[asManifest(KINDS[plural], object)]} onClose={onClose} />;
  if (open === 'stop') {
    const { stop, means } = STOPS[plural];
    return (
      <ConfirmDialog
        title={`${stop} ${what} ${name}?`}
        action={stop}
        onClose={onClose}
        onConfirm={() => setStopped(change, plural, object, true)}
      >
        <p>{means}</p>
      </ConfirmDialog>
    );
  }
  if (open !== 'delete') return null;
  return (
    <DeleteDialog
      title={`Delete ${what} ${name}`}
      path={kubePath(plural, namespace, name)}
      name={name}
      onClose={onClose}
      whenDone={() => go(list)}
    >
      {children}
    </DeleteDialog>
  );
}

/** What takes an object of each kind out of service, and what callers notice. */
const STOPS = {
  apikeys: {
    field: 'disabled',
    stop: 'Disable',
    start: 'Enable',
    means: 'Calls with this key are refused, usually within a second, until you enable it again.',
  },
  providers: {
    field: 'suspended',
    stop: 'Suspend',
    start: 'Resume',
    means:
      'Routes go on with their other targets. A model without another target refuses calls until you resume it.',
  },
  modelroutes: {
    field: 'suspended',
    stop: 'Suspend',
    start: 'Resume',
    means: 'Calls to the model of this route are refused until you resume the route.',
  },
} as const;

/** Puts an object out of service after a confirmation, and back at once. */
function stopAction(
  change: Change,
  plural: Plural,
  object: KubeObject,
  onOpen: (dialog: 'stop') => void,
): Action {
  const { field, stop, start } = STOPS[plural];
  const isStopped = (object.spec as Readonly<Record<string, unknown>>)[field] === true;
  return {
    label: isStopped ? start : stop,
    right: `patch ${plural}`,
    onClick: () => (isStopped ? setStopped(change, plural, object, false) : onOpen('stop')),
  };
}

function setStopped(
  change: Change,
  plural: Plural,
  { metadata: { namespace, name } }: KubeObject,
  isStopped: boolean,
): void {
  const { field, stop, start } = STOPS[plural];
  const done = `${(isStopped ? stop : start).replace(/e?$/, 'ed')}.`;
  void change.run(kubePath(plural, namespace, name), 'PATCH', { spec: { [field]: isStopped } }, done);
}

interface StateProps {
  readonly tone: Tone;
  readonly word: string;
  readonly message: string;
  readonly at: string | undefined;
}

/** Of a part of an object, in a table. */
export function State({ tone, word, message, at }: StateProps) {
  return (
    <>
      <Badge tone={tone}>{word}</Badge>
      {message !== '' && (
        <span class="under">
          <Prose text={message} />
        </span>
      )}
      {at !== undefined && (
        <span class="under">
          <Ago at={at} />
        </span>
      )}
    </>
  );
}
