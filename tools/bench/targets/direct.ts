// No proxy at all: what can client and upstream do by themselves? Its CPU figure is the mock's.

import { runningTarget, type Target } from './target.ts';

export const direct: Target = {
  name: 'direct',
  describe: async () => 'the mock upstream itself',
  async start({ upstream }) {
    return { ...runningTarget('direct', upstream.port, upstream.process), stop: async () => undefined };
  },
};
