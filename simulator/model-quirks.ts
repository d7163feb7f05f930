// What does a model refuse that its dialect takes? Read off the model's name, as the vendors document it or answer it.

/** Rows by dialect and vendor. `since` is the first release that refuses: 406 for 4.6. */
type ClaudeRefusal = 'prefill' | 'forced-call';

const claudeRefusals: Record<ClaudeRefusal, number> = {
  // A conversation that ends with the assistant: vercel/ai#12296, anomalyco/opencode#13768 (2026-02).
  prefill: 406,
  // `tool_choice` any and tool: Anthropic's "Forcing tool use", Fable 5.1 and later (2026-09).
  'forced-call': 501,
};

export function claudeRefuses(model: string, refusal: ClaudeRefusal): boolean {
  const release = claudeRelease(model);
  return release !== undefined && release >= claudeRefusals[refusal];
}

/** 406 for `claude-opus-4-6`; undefined for all other models, and for names without a release. */
function claudeRelease(model: string): number | undefined {
  const found = /claude-(?:[a-z]{1,16}-){0,3}(\d{1,2})(?:[-.](\d{1,2}))?(?!\d)/.exec(model.toLowerCase());
  return found === null ? undefined : Number(found[1]) * 100 + Number(found[2] ?? 0);
}

/** Mistral's chat API takes messages in one order only (datapizza-labs/datapizza-ai#98, mistral-common's validator, 2025-12). */
export function isMistral(model: string): boolean {
  return /(?:^|[^a-z])(?:mi[sx]tral|ministral|magistral|codestral|devstral|pixtral)/.test(
    model.toLowerCase(),
  );
}

/** Which roles may follow a role at Mistral. */
const mistralOrder: Record<string, readonly string[]> = {
  system: ['system', 'user', 'assistant'],
  user: ['system', 'user', 'assistant'],
  assistant: ['user', 'assistant', 'tool'],
  tool: ['assistant', 'tool'],
};

/** Whether Mistral takes a message of this role after one of that role. `developer` is no role there, and counts as system. */
export function mayFollowAtMistral(role: string, before: string): boolean {
  const known = (name: string) => (name === 'developer' ? 'system' : name);
  return mistralOrder[known(before)]?.includes(known(role)) ?? true;
}
