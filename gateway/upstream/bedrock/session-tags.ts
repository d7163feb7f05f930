// Which tags does an assumed role carry, so that the AWS bill shows the caller? The caller's; the Provider's namespace without a caller.
// https://docs.aws.amazon.com/IAM/latest/UserGuide/id_session-tags.html

import type { Caller } from '../../request/caller.ts';
import type { ProviderView } from '../../table/view.ts';

/** Values by key. */
export type SessionTags = Readonly<Record<string, string>>;

/** Undefined: a role has no tags, and one session for all callers. */
export function taggingOf({ entry, namespace: home }: ProviderView) {
  const { sessionTags } = entry.settings ?? {};
  if (sessionTags === undefined) return undefined;
  const isByKey = sessionTags === 'ApiKey';
  const byNamespace = (namespace: string): SessionTags => ({ 'penstock.dev/namespace': namespace });
  return {
    own: byNamespace(home),
    nameOf({ key, namespace }: Caller): string | undefined {
      if (isByKey) return key.id;
      return namespace === home ? undefined : namespace;
    },
    tagsOf({ key, namespace }: Caller): SessionTags {
      // The namespace has its own tag, and AWS takes 256 characters.
      const name = key.id.slice(key.id.indexOf('/') + 1);
      return { ...byNamespace(namespace), ...(isByKey && { 'penstock.dev/api-key': name }) };
    },
  };
}
