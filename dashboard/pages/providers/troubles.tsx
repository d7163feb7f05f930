// Which pods skip this provider, and why?

import { Badge } from '../parts/basics.tsx';
import { useNow } from '../shell/asking.tsx';
import { useShell } from '../shell/context.tsx';
import type { Provider } from '../words/kube.ts';
import { troubleWords } from '../words/troubles.ts';

/** Nothing if no pod reports any. */
export function Troubles({ provider }: { readonly provider: Pick<Provider, 'status'> }) {
  const { formats } = useShell();
  const troubles = troubleWords(provider, formats, useNow());
  if (troubles.length === 0) return null;
  return (
    <section class="panel" aria-labelledby="troubles-heading">
      <h2 id="troubles-heading">Paused models and keys</h2>
      <ul class="conditions">
        {troubles.map(({ id, what, tone, pods, more }) => (
          <li key={id}>
            <Badge tone={tone}>{tone === 'bad' ? 'Paused' : 'Cooldown'}</Badge>
            <div>
              <p class="condition-title">{what}</p>
              {pods.map(({ name, sentence }) => (
                <p key={name} class="condition-message">
                  {sentence}
                </p>
              ))}
              {more > 0 && <p class="condition-message">and by {formats.counted(more, 'more pod')}</p>}
            </div>
          </li>
        ))}
      </ul>
    </section>
  );
}
