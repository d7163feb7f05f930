// Does a provider answer, does it take the key, and which models does it list? A gateway asks it; this page dials nothing.

import { useState } from 'preact/hooks';
import { Badge, Button } from '../parts/basics.tsx';
import type { Api } from '../shell/api.ts';
import { useShell } from '../shell/context.tsx';
import { PROVIDER_TYPES } from '../words/choices.ts';
import type { Tone } from '../words/conditions.ts';
import { type ProviderForm, signInOf } from './provider-form.ts';

interface Tested {
  readonly outcome: 'works' | 'odd' | 'refused' | 'fails';
  readonly message: string;
  readonly models?: readonly string[];
  readonly more?: number;
}

interface Question {
  readonly namespace: string;
  readonly provider?: string;
  readonly type?: string;
}

export function testConnection(api: Api, question: Question): Promise<Tested> {
  return api.call('ledger/v1/connection-check', { method: 'POST', body: question });
}

/** @param isSaved with the key, headers and certificates of the saved one, where the address is its own. */
export function questionOf(form: ProviderForm, isSaved: boolean): Question {
  const { namespace, name, type, baseUrl, apis, key } = form;
  const options = Object.fromEntries(Object.entries(form.options).filter(([, text]) => text !== ''));
  return {
    namespace,
    ...(isSaved ? { provider: name } : {}),
    type,
    ...(baseUrl === '' ? {} : { baseURL: baseUrl }),
    ...(PROVIDER_TYPES[type].needsApis ? { apis } : {}),
    ...(Object.keys(options).length === 0 ? {} : { options }),
    // Credentials of a cloud are exchanged for a saved provider only.
    ...(key === '' || signInOf(form) !== undefined ? {} : { key }),
  };
}

const outcomes: Readonly<Record<Tested['outcome'], readonly [Tone, string]>> = {
  works: ['good', 'Works'],
  odd: ['warn', 'Not verified'],
  refused: ['bad', 'Key refused'],
  fails: ['bad', 'Failed'],
};
const modelsShown = 12;

interface TestConnectionProps {
  /** @returns undefined where a field is wrong, and says so there. */
  readonly ask: () => Question | undefined;
  readonly isAllowed: boolean;
  readonly onModels?: (models: readonly string[]) => void;
}

/** Nothing without a ledger: it relays the question. */
export function TestConnection({ ask, isAllowed, onModels }: TestConnectionProps) {
  const { api, session, announce } = useShell();
  const [tested, setTested] = useState<Tested | undefined>(undefined);
  const [isTesting, setTesting] = useState(false);
  if (!session.hasLedger) return null;
  const test = async () => {
    const question = ask();
    if (question === undefined || isTesting) return;
    setTesting(true);
    setTested(undefined);
    const found = await testConnection(api, question).catch(
      (error: Error): Tested => ({ outcome: 'fails', message: error.message }),
    );
    setTested(found);
    setTesting(false);
    onModels?.(found.models ?? []);
    announce(`${outcomes[found.outcome][1]}. ${found.message}`);
  };
  const { models = [], more = 0 } = tested ?? {};
  const hidden = Math.max(0, models.length - modelsShown) + more;
  return (
    <div class="tested">
      <Button onClick={() => void test()} disabled={isTesting || !isAllowed}>
        {isTesting ? 'Testing…' : 'Test connection'}
      </Button>
      {tested !== undefined && (
        <p>
          <Badge tone={outcomes[tested.outcome][0]}>{outcomes[tested.outcome][1]}</Badge> {tested.message}
        </p>
      )}
      {models.length > 0 && (
        <p class="hint break">
          {models.slice(0, modelsShown).join(', ')}
          {hidden > 0 && ` and ${hidden} more`}
        </p>
      )}
    </div>
  );
}
