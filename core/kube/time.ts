// How does Kubernetes write a time?

/** RFC 3339 in whole seconds (metav1.Time), as the API server writes its own. @param wallMs Unix milliseconds. */
export function timeOf(wallMs: number): string {
  return `${new Date(wallMs).toISOString().slice(0, -'.000Z'.length)}Z`;
}
