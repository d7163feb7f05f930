// How does a status reach its object? By server-side apply of all that is ours, so that what we no longer say goes
// away, and what another manager says (status.usage) stays.

import { isNotFound, type KubeClient } from '../../core/kube/client.ts';
import { applyStatus } from '../../core/kube/patch.ts';
import { objectPath } from '../../core/kube/paths.ts';
import { API_GROUP, API_VERSION } from '../resources/metadata.ts';
import { type ObjectRef, resourceOf } from './object-ref.ts';
import type { ObjectStatus } from './object-status.ts';

/** Owner of every field of a status but `usage`. */
const STATUS_MANAGER = 'penstock';

interface StatusWrite {
  readonly client: KubeClient;
  readonly object: ObjectRef;
  /**
   * Of the object that the status speaks about: it goes to no other one, as would be a namesake made after that was
   * deleted. (The server looks at no uid here.)
   */
  readonly resourceVersion: string | undefined;
  readonly status: ObjectStatus;
  readonly signal?: AbortSignal;
}

/** `gone`: the object was deleted, so nothing was written. */
type StatusWritten =
  | { readonly type: 'written'; readonly resourceVersion: string | undefined }
  | { readonly type: 'gone' };

/** @throws {KubeError} with 409 if the object has changed: read it again, and decide again. */
export async function writeStatus(write: StatusWrite): Promise<StatusWritten> {
  const { client, object, resourceVersion, status, signal } = write;
  const { kind, namespace, name } = object;
  const body = {
    apiVersion: `${API_GROUP}/${API_VERSION}`,
    kind,
    metadata: { namespace, name, ...(resourceVersion === undefined ? {} : { resourceVersion }) },
    status,
  };
  try {
    const path = objectPath(resourceOf(kind), { namespace, name }, 'status');
    const { metadata } = await applyStatus(client, path, body, {
      fieldManager: STATUS_MANAGER,
      force: true,
      ...(signal === undefined ? {} : { signal }),
    });
    return { type: 'written', resourceVersion: metadata.resourceVersion };
  } catch (error) {
    if (isNotFound(error)) return { type: 'gone' };
    throw error;
  }
}
