// Does the key work? One short streamed request from this browser straight to the gateway.

import { useState } from 'preact/hooks';
import { Button } from '../parts/basics.tsx';
import { Answering } from '../playground/answering.tsx';

interface TestCallProps {
  readonly address: string;
  readonly keyText: string;
  readonly model: string;
}

const never = new AbortController().signal;

export function TestCall({ address, keyText, model }: TestCallProps) {
  const [round, setRound] = useState(0);
  const [isRunning, setRunning] = useState(false);
  return (
    <div class="test">
      <div class="row">
        <Button
          disabled={isRunning}
          onClick={() => {
            setRound(round + 1);
            setRunning(true);
          }}
        >
          {isRunning ? 'Asking…' : 'Test'}
        </Button>
        <span class="hint">Sends one short request from this browser. It is billed as usual.</span>
      </div>
      {round > 0 && (
        <Answering
          key={round}
          chat={{
            ...{ address, key: keyText, model },
            messages: [{ role: 'user', content: 'Say hello in one sentence.' }],
          }}
          signal={never}
          whenEnded={() => setRunning(false)}
        />
      )}
    </div>
  );
}
