// Reports news about the whole table, in the log and as events of the pointer. Each is reported once, until it changes.

import { pointerName } from '../../core/contract/manifest.ts';
import type { Log } from '../../core/kube/log.ts';
import type { HeldCounts } from '../hold/hold-absent.ts';
import { ACCEPT_ABSENCE_ANNOTATION } from '../publish/pointer-holder.ts';
import { EVENT_REASONS, type TableEventReason } from '../resources/event-reasons.ts';
import type { EventRecorder } from '../status/events.ts';
import type { Pin } from './bring-out.ts';

export interface TableNews {
  /** Objects that are missing and go on serving, and the namespaces that cannot be read. */
  held(now: HeldCounts, unreadable: ReadonlySet<string>): void;
  heldNow(): HeldCounts;
  pinned(now: Pin | undefined): void;
  isPinned(): boolean;
  emit(reason: TableEventReason, note: string): void;
}

interface Parts {
  readonly events: EventRecorder;
  readonly log: Log;
  readonly instance: string;
  readonly tableNamespace: string;
}

export function createTableNews({ events, log, instance, tableNamespace }: Parts): TableNews {
  const name = pointerName(instance);
  let held: HeldCounts = { Provider: 0, ModelRoute: 0, ApiKey: 0 };
  /** The last report on it. */
  let heldWords = describeHeld(held, new Set());
  let isCounted = false;
  let pin: Pin | undefined;

  return {
    held(now, unreadable) {
      const words = describeHeld(now, unreadable);
      const isOther = words !== heldWords;
      held = now;
      heldWords = words;
      if (isOther) emitHeld(unreadable);
    },
    heldNow: () => held,
    pinned(now) {
      const isSame = JSON.stringify(now) === JSON.stringify(pin);
      pin = now;
      if (!isSame) emitPin(now);
    },
    isPinned: () => pin !== undefined,
    emit,
  };

  function emitHeld(unreadable: ReadonlySet<string>): void {
    if (unreadable.size > 0) {
      log('warn', 'namespaces cannot be read; their entries in the table stay unchanged', {
        namespaces: [...unreadable],
        remedy:
          'give the operator its rights there, or remove the namespace from the list of served namespaces',
      });
    }
    if (held.Provider + held.ModelRoute + held.ApiKey === 0) {
      log('info', 'no missing object is kept in the table any more');
      if (isCounted) emit('AbsenceOver', 'the missing objects are back, or their deletion was confirmed');
      isCounted = false;
      return;
    }
    isCounted = true;
    const confirmBy = `kubectl annotate secret ${name} -n ${tableNamespace} ${ACCEPT_ABSENCE_ANNOTATION}=true`;
    log('warn', 'objects disappeared without a deletion event; they stay in service until confirmed', {
      ...held,
      confirmBy,
    });
    const counts = Object.entries(held).flatMap(([kind, count]) =>
      count === 0 ? [] : [`${count} ${kind}s`],
    );
    emit(
      'AbsenceHeld',
      `${counts.join(', ')} are missing without a delete event; they stay in service until the deletion is confirmed: ${confirmBy}`,
    );
  }

  function emitPin(now: Pin | undefined): void {
    if (now === undefined) {
      emit('Unpinned', 'the table is no longer pinned and follows the objects');
    } else if (now.type === 'pinned') {
      emit(
        'Pinned',
        `the table is pinned to generation ${now.generation}: its content is published under a new number and then stays, except for keys that stop working`,
      );
    } else {
      emit(
        'PinImpossible',
        `the table cannot be pinned to ${now.wanted}: ${now.message}. The current table stays, except for keys that stop working, until the annotation is changed or removed`,
      );
    }
  }

  function emit(reason: TableEventReason, note: string): void {
    const { type } = EVENT_REASONS[reason];
    log(type === 'Warning' ? 'warn' : 'info', note, { reason });
    const subject = { apiVersion: 'v1', kind: 'Secret', namespace: tableNamespace, name };
    events.record(subject, { type, reason, action: 'Publish', note });
  }
}

function describeHeld(held: HeldCounts, unreadable: ReadonlySet<string>): string {
  return JSON.stringify([held, [...unreadable]]);
}
