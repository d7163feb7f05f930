// Which versions of the clients are looked at?

import { type NpmProgram, npmPlatform } from '../../support/npm-program.ts';

export const codex: NpmProgram = {
  name: '@openai/codex',
  version: '0.169.0',
  binary: `@openai/codex-${npmPlatform}/vendor/*/bin/codex`,
};

export const claudeCode: NpmProgram = {
  name: '@anthropic-ai/claude-code',
  version: '2.1.330',
  binary: `@anthropic-ai/claude-code-${npmPlatform}/claude`,
};
