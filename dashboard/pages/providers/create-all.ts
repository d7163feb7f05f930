// How are several objects made that are of use only together? Each is tried before the first is made, and what may have been made without an
// answer is looked for before it is made again.

import { type FieldProblems, refusedFields } from '../parts/refused-fields.ts';
import { type Api, ApiError, findObject } from '../shell/api.ts';
import { isWithin, type NotDone, sendSurely } from '../shell/send-surely.ts';

export interface Step {
  /** Its collection. */
  readonly path: string;
  readonly body: { readonly metadata: { readonly name: string }; readonly spec?: unknown };
  /** What people call it. */
  readonly what: string;
}

/** How far it has come, kept from one sending to the next. */
interface Created {
  /** What people call each, by what exactly was made: a change of it in the form is refused, since another one exists. */
  readonly done: ReadonlyMap<string, string>;
  /** It was sent without an answer, so it may exist. */
  readonly open: string | undefined;
}

export const nothingCreated: Created = { done: new Map(), open: undefined };

type AllSent =
  | { readonly is: 'done'; readonly created: Created }
  | (NotDone & {
      readonly what: string;
      readonly created: Created;
      /** By the paths of that object. */
      readonly problems?: FieldProblems;
    });

/** @throws nothing: what went wrong is in the answer, with how far it came. */
export async function createAll(api: Api, steps: readonly Step[], before: Created): Promise<AllSent> {
  const done = new Map(before.done);
  const left = steps.filter((step) => !done.has(idOf(step)));
  for (const step of left) {
    if (before.open === idOf(step)) continue;
    try {
      await tryToCreate(api, step);
    } catch (error) {
      const { message } = error as Error;
      const problems = refusedFields(error);
      return { is: 'refused', message, what: step.what, created: { done, open: before.open }, problems };
    }
  }
  for (const step of left) {
    const id = idOf(step);
    const sent = await sendSurely({
      send: () => api.call(step.path, { method: 'POST', body: step.body }),
      wasDone: () => isThere(api, step),
      isAgain: before.open === id,
    });
    if (sent.is !== 'done')
      return { ...sent, what: step.what, created: { done, open: sent.is === 'unknown' ? id : undefined } };
    done.set(id, step.what);
  }
  return { is: 'done', created: { done, open: undefined } };
}

function tryToCreate(api: Api, { path, body }: Step): Promise<unknown> {
  return api.call(path, { method: 'POST', query: { dryRun: 'All' }, body });
}

async function isThere(api: Api, step: Step): Promise<boolean> {
  const { path, body } = step;
  if (body.spec !== undefined) {
    const there = await findObject<{ readonly spec?: unknown }>(api, `${path}/${body.metadata.name}`);
    return there !== undefined && isWithin(body.spec, there.spec);
  }
  try {
    // Secrets cannot be read here. The dry run before the first try succeeded, so a conflict now means that ours was created.
    await tryToCreate(api, step);
    return false;
  } catch (error) {
    if (error instanceof ApiError && error.status === 409) return true;
    // Its namespace is gone.
    if (error instanceof ApiError && error.status === 404) return false;
    throw error;
  }
}

function idOf({ path, body }: Step): string {
  return JSON.stringify([path, body]);
}
