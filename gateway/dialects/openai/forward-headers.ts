// Which of a client's headers go on to an OpenAI-shaped upstream?

/** Organisation and project belong to a key: they are good only where the key is the caller's own. */
export function forwardsOpenAiHeader(name: string, isOwnProvider: boolean): boolean {
  return isOwnProvider && (name === 'openai-organization' || name === 'openai-project');
}
