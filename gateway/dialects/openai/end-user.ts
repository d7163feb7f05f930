// How is the caller's end user named to OpenAI-shaped upstreams, which take 64 characters at most?

import { hash } from 'node:crypto';

/** Longer ids are hashed, not cut: those of one device begin alike for all of its users. */
export function fitEndUser(id: string): string {
  return id.length <= 64 ? id : hash('sha256', id, 'hex');
}
