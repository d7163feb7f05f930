// Do requests go on being answered while something happens? A steady caller of every gateway, who remembers each answer.

import { askGateway, type Said } from './ask.ts';
import type { GatewayProcess } from './installation.ts';

export interface Traffic {
  /** How many requests were answered so far. */
  count(): number;
  /** Ends it; gives every answer that was not as wanted, and how many there were in all. */
  stop(): Promise<{ readonly asked: number; readonly bad: readonly string[] }>;
}

/** A steady caller, not a load. */
const pauseMs = 100;

/** One request at a time to each gateway, again and again. @param everyMs Between two requests to one gateway. */
export function startTraffic(
  gateways: readonly Pick<GatewayProcess, 'url' | 'name'>[],
  key: string,
  model: string,
  isGood: (said: Said) => boolean = ({ status }) => status === 200,
  everyMs: number = pauseMs,
): Traffic {
  let isOver = false;
  let asked = 0;
  const bad: string[] = [];
  const callers = gateways.map(async (gateway) => {
    while (!isOver) {
      const said = await askGateway(gateway, key, model);
      asked++;
      if (!isGood(said)) bad.push(`${gateway.name}: ${said.status} ${said.text.slice(0, 300)}`);
      await new Promise((resolve) => setTimeout(resolve, everyMs));
    }
  });
  return {
    count: () => asked,
    async stop() {
      isOver = true;
      await Promise.all(callers);
      return { asked, bad };
    },
  };
}
