// How is a cluster of the tests asked with kubectl?

import { bareEnvironment } from '../support/bare-environment.ts';
import { type Ran, run } from './run.ts';

export interface KubectlOptions {
  readonly stdin?: string;
  /** Path of another kubeconfig; default: the admin's. */
  readonly kubeconfig?: string;
  /** Default 60,000. */
  readonly timeoutMs?: number;
}

export interface Kubectl {
  /** A failing command is a result, not an exception. */
  kubectl(args: readonly string[], options?: KubectlOptions): Promise<Ran>;
  /** Standard output. @throws with what kubectl said where it fails. */
  mustKubectl(args: readonly string[], options?: KubectlOptions): Promise<string>;
}

export function makeKubectl(of: {
  readonly program: string;
  readonly kubeconfig: string;
  /** Its memory of what a server offers is kept by address, and addresses come again. */
  readonly cacheFolder: string;
}): Kubectl {
  function kubectl(args: readonly string[], given: KubectlOptions = {}): Promise<Ran> {
    return run(of.program, args, {
      env: {
        ...bareEnvironment(),
        // It is over before there is anything worth collecting.
        GOGC: 'off',
        KUBECONFIG: given.kubeconfig ?? of.kubeconfig,
        KUBECACHEDIR: of.cacheFolder,
      },
      ...(given.stdin === undefined ? {} : { stdin: given.stdin }),
      ...(given.timeoutMs === undefined ? {} : { timeoutMs: given.timeoutMs }),
    });
  }
  return {
    kubectl,
    async mustKubectl(args, given) {
      const { code, stdout, stderr } = await kubectl(args, given);
      if (code !== 0)
        throw new Error(`kubectl ${args.join(' ')} ended with ${code ?? 'a signal'}: ${stderr}`);
      return stdout;
    },
  };
}
