// What does the control plane of Bedrock list? Models and inference profiles, to the key of the account.

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

interface BedrockControlOptions {
  readonly key: string;
  readonly models: readonly ListedModel[];
  /** Ids of inference profiles. */
  readonly profiles: readonly string[];
}

interface ListedModel {
  readonly id: string;
  /** Can be called by its own id; else by a profile alone. */
  readonly isOnDemand: boolean;
  readonly output: 'TEXT' | 'IMAGE' | 'EMBEDDING';
}

interface BedrockControl extends AsyncDisposable {
  /** Such as `http://127.0.0.1:40123`. */
  readonly url: string;
}

export async function startBedrockControl(options: BedrockControlOptions): Promise<BedrockControl> {
  const server = createServer(({ method, url = '', headers }, response) => {
    const say = (status: number, body: object): void => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    };
    if (headers.authorization !== `Bearer ${options.key}`)
      return say(403, { message: 'The security token included in the request is invalid.' });
    const { pathname, searchParams } = new URL(url, 'http://bedrock');
    if (method === 'GET' && pathname === '/foundation-models')
      return say(200, modelsIn(options, searchParams));
    if (method === 'GET' && pathname === '/inference-profiles') return say(200, profilesIn(options));
    say(404, { __type: 'UnknownOperationException' });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function modelsIn({ models }: BedrockControlOptions, asked: URLSearchParams): object {
  const wanted = asked.get('byOutputModality');
  const modelSummaries = models
    .filter(({ output }) => wanted === null || wanted === output)
    .map(({ id, isOnDemand, output }) => ({
      modelArn: `arn:aws:bedrock:us-east-1::foundation-model/${id}`,
      modelId: id,
      outputModalities: [output],
      inferenceTypesSupported: isOnDemand ? ['ON_DEMAND'] : ['INFERENCE_PROFILE'],
      modelLifecycle: { status: 'ACTIVE' },
    }));
  return { modelSummaries };
}

function profilesIn({ profiles }: BedrockControlOptions): object {
  const inferenceProfileSummaries = profiles.map((id) => ({
    inferenceProfileName: id,
    inferenceProfileArn: `arn:aws:bedrock:us-east-1:123456789012:inference-profile/${id}`,
    inferenceProfileId: id,
    models: [],
    status: 'ACTIVE',
    type: 'SYSTEM_DEFINED',
  }));
  return { inferenceProfileSummaries };
}
