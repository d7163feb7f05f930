// What is the same on every page about one object? Its heading with what can be done to it, its YAML, and its end.

import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { kubePath, type May, useObject, useRights } from '../shell/asking.tsx';
import { Link, useShell } from '../shell/context.tsx';
import type { Tone } from '../words/conditions.ts';
import { KINDS, type KubeObject, type Plural } from '../words/kube.ts';
import { asManifest } from '../words/manifest.ts';
import type { Standing } from '../words/standing.ts';
import { type Action, Actions, Ago, Badge } from './basics.tsx';
import { type ChangeProblem, NotDone, useChange } from './change.tsx';
import { DeleteDialog } from './delete-dialog.tsx';
import { YamlDialog } from './dialog.tsx';

type ObjectDialog = 'delete' | 'yaml';

/** What such a page has in its hands. @template More dialogs of its own. */
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
  /** The list that it stands in, and what that is called. */
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
  readonly standing: Standing;
  readonly may: May;
  /** In front of those that every object has. */
  readonly actions: readonly Action[];
  readonly onOpen: (dialog: ObjectDialog) => void;
  /** Why the last change was not made. */
  readonly problem: ChangeProblem | undefined;
}

export function ObjectHead({ plural, object, standing, may, actions, onOpen, problem }: ObjectHeadProps) {
  return (
    <>
      <div class="head">
        <h1 tabIndex={-1}>
          {object.metadata.name} <Badge tone={standing.tone}>{standing.word}</Badge>
        </h1>
        <Actions
          may={may}
          actions={[
            ...actions,
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
      <NotDone problem={problem} />
    </>
  );
}

interface ObjectDialogsProps {
  readonly plural: Plural;
  readonly object: KubeObject;
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

export function ObjectDialogs({ plural, object, open, onClose, what, list, children }: ObjectDialogsProps) {
  const { go } = useShell();
  const { namespace, name } = object.metadata;
  if (open === 'yaml') return <YamlDialog objects={[asManifest(KINDS[plural], object)]} onClose={onClose} />;
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

/** Takes it out of service, and puts it back. */
export function suspendAction(
  change: ReturnType<typeof useChange>,
  plural: 'providers' | 'modelroutes',
  { metadata, spec }: KubeObject & { readonly spec: { readonly suspended?: boolean } },
): Action {
  const isSuspended = spec.suspended === true;
  return {
    label: isSuspended ? 'Resume' : 'Suspend',
    right: `patch ${plural}`,
    onClick: () =>
      void change.run(
        kubePath(plural, metadata.namespace, metadata.name),
        'PATCH',
        { spec: { suspended: !isSuspended } },
        isSuspended ? 'Resumed.' : 'Suspended.',
      ),
  };
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
      {message !== '' && <span class="under">{message}</span>}
      {at !== undefined && (
        <span class="under">
          <Ago at={at} />
        </span>
      )}
    </>
  );
}
