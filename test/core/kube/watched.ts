// What does a reflector tell? Everything written down, and a promise for the moment when it holds what a test wants.

import { systemClock } from '../../../core/clock.ts';
import type { KubeObject } from '../../../core/kube/object.ts';
import {
  type Reflector,
  type ReflectorEvent,
  type ReflectorOptions,
  startReflector,
  type Trouble,
} from '../../../core/kube/watch.ts';

export interface Watched {
  readonly reflector: Reflector<string>;
  /** `upserted a/x 5`, `deleted a/x seen`, `listed`. */
  readonly reported: readonly string[];
  readonly troubles: readonly Trouble[];
  /** Settled as soon as it is true, asked after every event, trouble and `look`. */
  until(isTrue: (watched: Watched) => boolean): Promise<void>;
}

type Given = Pick<ReflectorOptions<string>, 'client' | 'path'> & Partial<ReflectorOptions<string>>;

/** Keeps the resourceVersion of each object. */
export function startWatched(options: Given): Watched {
  const reported: string[] = [];
  const troubles: Trouble[] = [];
  const questions = new Set<() => void>();
  const look = () => {
    for (const ask of questions) ask();
  };
  const reflector = startReflector<string>({
    clock: systemClock,
    random: () => 0,
    convert: (object: KubeObject) => String(object.metadata.resourceVersion),
    ...options,
    onEvent(event) {
      reported.push(tell(event));
      look();
      options.onEvent?.(event);
    },
    onTrouble(trouble) {
      troubles.push(trouble);
      options.onTrouble?.(trouble);
      look();
    },
  });
  const watched: Watched = {
    reflector,
    reported: reported,
    troubles,
    until: (isTrue) =>
      new Promise((resolve) => {
        const ask = () => {
          if (!isTrue(watched)) return;
          questions.delete(ask);
          resolve();
        };
        questions.add(ask);
        ask();
      }),
  };
  return watched;
}

function tell(event: ReflectorEvent<string>): string {
  if (event.type === 'listed') return 'listed';
  return `${event.type} ${event.key} ${event.type === 'deleted' ? event.cause : event.object}`;
}
