// With which values is the chart judged? Each set shows what one kind of user would set.

import { RELEASE_NAMESPACE, type Values } from './helm.ts';

export const DIGEST = `sha256:${'0'.repeat(64)}`;
export const TENANTS = ['team-a', 'team-b'];
export const ONLY_TENANTS = { rbac: { scope: 'namespaces', tenantNamespaces: TENANTS } };

export const OPENED = {
  gateway: { publicUrl: 'https://models.example.com/base/v1', showProvider: false },
  platformNamespaces: ['platform', 'ml'],
  servicePrefix: 'acme',
  keyPrefix: 'acme_',
  egress: {
    allow: [
      { cidr: '10.20.0.0/16', namespaces: ['*'] },
      { cidr: 'fd00::/8', namespaces: ['ml'] },
    ],
    deny: ['93.184.0.0/16', '2a00:1450::/32'],
  },
  issuedSecrets: { metadataPrefixes: ['reloader.example'] },
  tenants: [
    {
      namespace: 'team-a',
      budgets: [{ period: 'Month', limit: '500.00' }],
      limits: { requestsPerMinute: 600, tokensPerMinute: 1_000_000, maxConcurrentRequests: 50 },
    },
  ],
  image: { digest: DIGEST },
  imagePullSecrets: ['registry'],
};

/** As on any cluster whose issuer the clouds trust. */
export const TOKEN_IDENTITIES = {
  aws: { source: 'Token', roleARN: 'arn:aws:iam::123456789012:role/penstock', region: 'eu-central-1' },
  gcp: {
    source: 'Token',
    audience: '//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/pool/providers/cluster',
    serviceAccount: 'models@my-project.iam.gserviceaccount.com',
  },
  azure: {
    source: 'Token',
    clientID: '66666666-7777-8888-9999-000000000000',
    tenantID: '11111111-2222-3333-4444-555555555555',
  },
};
/** As the clouds' own clusters have it. */
export const MANAGED_IDENTITIES = {
  aws: { source: 'PodIdentity' },
  gcp: { source: 'GKE', serviceAccount: 'models@my-project.iam.gserviceaccount.com' },
  azure: { source: 'AKS', clientID: '66666666-7777-8888-9999-000000000000' },
};

const HATCHES = {
  priorityClassName: 'system-cluster-critical',
  podLabels: { cost: 'ai' },
  podAnnotations: { 'example.com/seen': 'yes' },
  nodeSelector: { pool: 'general' },
  tolerations: [{ key: 'pool', operator: 'Exists', effect: 'NoSchedule' }],
  topologySpreadConstraints: [
    {
      maxSkew: 1,
      topologyKey: 'topology.kubernetes.io/zone',
      whenUnsatisfiable: 'DoNotSchedule',
      labelSelector: { matchLabels: { cost: 'ai' } },
    },
  ],
  affinity: {
    nodeAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: {
        nodeSelectorTerms: [{ matchExpressions: [{ key: 'gpu', operator: 'DoesNotExist' }] }],
      },
    },
  },
  runtimeClassName: 'gvisor',
  dnsConfig: { options: [{ name: 'ndots', value: '2' }] },
  hostAliases: [{ ip: '192.0.2.7', hostnames: ['models.internal'] }],
  serviceAccount: { annotations: { 'eks.amazonaws.com/role-arn': 'arn:aws:iam::1:role/penstock' } },
  extraArgs: ['--heapsnapshot-signal=SIGUSR2'],
  extraEnv: [{ name: 'NODE_EXTRA_CA_CERTS', value: '/etc/ca/ca.crt' }],
  extraEnvFrom: [{ configMapRef: { name: 'more', optional: true } }],
  extraVolumes: [{ name: 'ca', configMap: { name: 'ca' } }],
  extraVolumeMounts: [{ name: 'ca', mountPath: '/etc/ca', readOnly: true }],
  extraContainers: [
    {
      name: 'beside',
      image: 'beside:1',
      securityContext: {
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      },
    },
  ],
};

export const VALUE_SETS: readonly (readonly [name: string, values: Values])[] = [
  ['nothing said', {}],
  ['namespaces of tenants only', ONLY_TENANTS],
  ['an address, platform namespaces, opened ranges, and an image by digest', OPENED],
  [
    'all left out that others bring',
    {
      rbac: { create: false },
      crds: { install: false },
      tableNamespace: { create: false, name: 'own-tables' },
      operator: { replicas: 0, resources: null },
      gateway: { replicas: 0, resources: null },
    },
  ],
  [
    'a parent chart, CRDs that go with the release, and other times',
    {
      global: { anything: true, imageRegistry: 'registry.example.com' },
      rbac: { aggregate: false },
      crds: { keep: false },
      gateway: { drain: { acceptSeconds: 0, graceSeconds: 60 } },
    },
  ],
  ['the demo', { demo: { enabled: true } }],
  [
    'the demo where only some namespaces are served',
    {
      ...ONLY_TENANTS,
      demo: { enabled: true, namespace: 'playground', clusterCidrs: ['10.96.0.0/12', 'fd00::/108'] },
      networkPolicy: { clients: [{ namespaceSelector: {} }] },
    },
  ],
  [
    'a HorizontalPodAutoscaler',
    { gateway: { autoscaling: { type: 'HPA', targetInFlight: 50, maxReplicas: 30 } } },
  ],
  [
    'KEDA',
    {
      gateway: {
        autoscaling: {
          type: 'KEDA',
          targetInFlight: 50,
          fallbackReplicas: 4,
          prometheusUrl: 'http://prometheus.monitoring.svc:9090',
        },
      },
    },
  ],
  ['KEDA by CPU alone', { gateway: { autoscaling: { type: 'KEDA', minReplicas: 3 } } }],
  [
    'an HTTPRoute',
    {
      gateway: {
        httpRoute: {
          enabled: true,
          parentRefs: [{ name: 'public', namespace: 'gateways', sectionName: 'https' }],
          hostnames: ['models.example.com'],
          annotations: { 'example.com/owner': 'ai' },
        },
      },
    },
  ],
  [
    'an Ingress and a load balancer',
    {
      gateway: {
        tls: { secretName: 'models-tls' },
        service: { type: 'LoadBalancer', port: 8443, annotations: { 'example.com/idle': '4000' } },
        ingress: {
          enabled: true,
          className: 'nginx',
          hosts: ['models.example.com', 'ai.example.com'],
          tlsSecretName: 'models-tls',
          annotations: { 'nginx.ingress.kubernetes.io/proxy-buffering': 'off' },
        },
      },
    },
  ],
  [
    'a PodMonitor, alerts and a dashboard',
    { monitoring: { scrape: 'PodMonitor', rules: { enabled: true }, dashboard: { enabled: true } } },
  ],
  [
    'a collector',
    {
      telemetry: {
        endpoint: 'https://otlp.example.com',
        headersSecretName: 'collector-headers',
        usageEvents: true,
        traces: { ratio: 1 },
        metrics: { legacyTokenHistogram: true },
      },
    },
  ],
  [
    'a ServiceMonitor',
    {
      monitoring: {
        scrape: 'ServiceMonitor',
        intervalSeconds: 15,
        labels: { release: 'kube-prometheus-stack' },
        rules: { enabled: true },
        dashboard: { enabled: true, labels: { dashboards: 'yes' } },
      },
    },
  ],
  [
    'every escape hatch',
    {
      commonLabels: { team: 'platform' },
      operator: HATCHES,
      gateway: HATCHES,
      ledger: { ...HATCHES, backup: { schedule: '@daily', claimName: 'backups' } },
      dashboard: { enabled: true, ...HATCHES },
      extraObjects: [
        {
          apiVersion: 'v1',
          kind: 'ConfigMap',
          metadata: { name: '{{ .Release.Name }}-map', namespace: RELEASE_NAMESPACE },
        },
        `{ apiVersion: v1, kind: ConfigMap, metadata: { name: '{{ include "penstock.instance" . }}-text', namespace: ${RELEASE_NAMESPACE} } }`,
      ],
    },
  ],
  [
    'other network settings',
    {
      networkPolicy: {
        clients: [{ namespaceSelector: { matchLabels: { 'example.com/ai': 'yes' } } }],
        metricsNamespaces: [],
        dnsPorts: [5353],
        apiServerPorts: [6443],
        upstreamPorts: [443, 8443],
        extraEgress: [{ to: [{ ipBlock: { cidr: '10.0.0.10/32' } }], ports: [{ port: 3128 }] }],
      },
    },
  ],
  [
    'a network by Cilium',
    {
      demo: { enabled: true },
      networkPolicy: { flavor: 'Cilium', apiServerPorts: [6443] },
      egress: { allow: [{ cidr: '10.0.0.0/8', namespaces: ['*'] }] },
    },
  ],
  [
    'a network by Cilium that knows its upstreams',
    { networkPolicy: { flavor: 'Cilium', upstreamNames: ['api.openai.com', '*.openai.azure.com'] } },
  ],
  [
    'identities at clouds, by tokens of the cluster',
    {
      networkPolicy: { flavor: 'Cilium', upstreamNames: ['*.openai.azure.com'] },
      gateway: { podLabels: { cost: 'ai' }, cloudIdentity: TOKEN_IDENTITIES },
    },
  ],
  ['identities of EKS, GKE and AKS', { gateway: { cloudIdentity: MANAGED_IDENTITIES } }],
  [
    'a role by IRSA, beside another annotation',
    {
      gateway: {
        cloudIdentity: { aws: { source: 'IRSA', roleARN: TOKEN_IDENTITIES.aws.roleARN } },
        serviceAccount: { annotations: { 'example.com/owner': 'ai' } },
      },
    },
  ],
  [
    'OpenShift, and a Gateway that takes no time limits',
    {
      podSecurity: { fixedUser: false },
      networkPolicy: { dnsPorts: [5353] },
      demo: { enabled: true },
      dashboard: { enabled: true },
      imagePullSecrets: [{ name: 'registry' }, 'other'],
      gateway: {
        httpRoute: { enabled: true, timeouts: false, parentRefs: [{ name: 'public' }] },
        service: { trafficDistribution: 'PreferClose' },
      },
    },
  ],
  [
    'VerticalPodAutoscalers',
    {
      operator: { verticalPodAutoscaler: { enabled: true } },
      ledger: { verticalPodAutoscaler: { enabled: true, updateMode: 'Initial' } },
    },
  ],
  ['a ledger without a volume', { ledger: { persistence: { enabled: false }, retentionDays: 0 } }],
  [
    'a ledger in Postgres that tells of every record',
    {
      ledger: {
        postgres: { secretName: 'ledger-postgres', port: 6432 },
        events: { url: 'https://billing.example.com:8443/events', tokenSecretName: 'billing' },
      },
      networkPolicy: { ledgerClients: [{ namespaceSelector: {} }] },
    },
  ],
  [
    'a ledger on a volume of another class',
    {
      ledger: {
        persistence: { size: '1Ti', storageClassName: 'fast' },
        events: { url: 'http://events.example' },
      },
    },
  ],
  [
    'a ledger with backups',
    { ledger: { backup: { schedule: '0 3 * * *', claimName: 'backups' }, nodeSelector: { disk: 'ssd' } } },
  ],
  [
    'a ledger in Postgres with the records of a file',
    {
      ledger: {
        postgres: { secretName: 'ledger-postgres' },
        import: { claimName: 'data-penstock-ledger-0' },
        backup: { schedule: '@daily', claimName: 'backups', keep: 30 },
      },
    },
  ],
  ['no ledger', { ledger: { enabled: false }, monitoring: { scrape: 'ServiceMonitor' } }],
  [
    'limits in a store that all gateways share',
    {
      limits: {
        store: { url: 'rediss://penstock@valkey.stores.svc:6380/2', existingSecret: 'valkey' },
        onStoreError: 'Deny',
      },
      networkPolicy: { limitsStore: [{ podSelector: { matchLabels: { app: 'valkey' } } }] },
    },
  ],
  ['a dashboard on port-forward', { dashboard: { enabled: true } }],
  [
    'a dashboard beside the gateways, with an issuer',
    {
      gateway: {
        publicUrl: 'https://models.example.com/v1',
        httpRoute: {
          enabled: true,
          parentRefs: [{ name: 'public', namespace: 'gateways' }],
          hostnames: ['models.example.com'],
        },
        limits: { proxies: ['10.0.0.0/8'] },
      },
      dashboard: {
        enabled: true,
        replicas: 2,
        httpRoute: { enabled: true, hostnames: ['penstock.example.com'] },
        session: { minutes: 30, existingSecret: 'dashboard-session' },
        oidc: {
          issuer: 'https://login.example.com:8443/realms/platform',
          clientId: 'penstock',
          existingSecret: 'dashboard-oidc',
          name: 'Example Login',
        },
      },
      networkPolicy: { dashboardClients: [{ namespaceSelector: { matchLabels: { edge: 'yes' } } }] },
    },
  ],
  [
    'a dashboard behind an Ingress, at addresses that are written out',
    {
      gateway: { ingress: { enabled: true, className: 'nginx', hosts: ['models.example.com'] } },
      dashboard: {
        enabled: true,
        publicUrls: ['https://penstock.example.com:8443', 'http://localhost:8090'],
        ingress: {
          enabled: true,
          hosts: ['penstock.example.com'],
          tlsSecretName: 'dashboard-tls',
          annotations: { 'example.com/owner': 'ai' },
        },
        service: { type: 'NodePort', port: 8080, annotations: { 'example.com/idle': '4000' } },
        proxies: ['192.0.2.7'],
        oidc: { issuer: 'https://login.example.com', clientId: 'penstock', scopes: ['openid'] },
      },
    },
  ],
  [
    'nothing that guards',
    {
      admissionPolicies: { enabled: false },
      networkPolicy: { enabled: false },
      operator: { podDisruptionBudget: { enabled: false } },
      gateway: { podDisruptionBudget: { enabled: false } },
    },
  ],
  [
    'small pods, in other units',
    {
      operator: { replicas: 1, resources: { requests: { memory: '200M' }, limits: { memory: '200M' } } },
      gateway: {
        threadPoolSize: 4,
        podDisruptionBudget: { maxUnavailable: 1 },
        resources: {
          requests: { cpu: 1, memory: '1.5Gi', 'ephemeral-storage': '3Gi' },
          limits: { memory: '1.5Gi', 'ephemeral-storage': '3Gi' },
        },
      },
    },
  ],
  [
    'a key for the test of the release',
    { helmTest: { model: 'chat', keySecret: { name: 'smoke', key: 'apiKey' } } },
  ],
];
