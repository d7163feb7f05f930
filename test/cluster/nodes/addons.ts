// What runs in every cluster of ours as pods of the system? The names of Services (CoreDNS), and when asked for, the figures of
// pods (metrics-server).

import { dnsImage, metricsImage } from './images.ts';
import { dnsAddress } from './network.ts';

const labels = (name: string) => ({ 'k8s-app': name });

export function dnsManifests(replicas: number): object[] {
  const name = 'coredns';
  const corefile = `.:53 {
  errors
  health
  ready
  kubernetes cluster.local in-addr.arpa ip6.arpa {
    pods insecure
    ttl 5
  }
  loadbalance
}
`;
  return [
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name, namespace: 'kube-system' } },
    {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRole',
      metadata: { name: 'system:coredns' },
      rules: [
        {
          apiGroups: [''],
          resources: ['endpoints', 'services', 'pods', 'namespaces'],
          verbs: ['list', 'watch'],
        },
        { apiGroups: ['discovery.k8s.io'], resources: ['endpointslices'], verbs: ['list', 'watch'] },
      ],
    },
    bindingOf('system:coredns', name),
    {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name, namespace: 'kube-system' },
      data: { Corefile: corefile },
    },
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'kube-dns', namespace: 'kube-system' },
      spec: {
        clusterIP: dnsAddress,
        selector: labels(name),
        ports: [
          { name: 'dns', port: 53, protocol: 'UDP' },
          { name: 'dns-tcp', port: 53, protocol: 'TCP' },
        ],
      },
    },
    deploymentOf(name, replicas, {
      serviceAccountName: name,
      dnsPolicy: 'Default',
      containers: [
        {
          name,
          image: dnsImage,
          imagePullPolicy: 'Never',
          args: ['-conf', '/etc/coredns/Corefile'],
          readinessProbe: { httpGet: { path: '/ready', port: 8181 }, periodSeconds: 1 },
          volumeMounts: [{ name: 'config', mountPath: '/etc/coredns' }],
        },
      ],
      volumes: [{ name: 'config', configMap: { name } }],
    }),
  ];
}

export function metricsManifests(): object[] {
  const name = 'metrics-server';
  return [
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name, namespace: 'kube-system' } },
    {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRole',
      metadata: { name: 'system:metrics-server' },
      rules: [
        { apiGroups: [''], resources: ['nodes/metrics'], verbs: ['get'] },
        { apiGroups: [''], resources: ['pods', 'nodes'], verbs: ['get', 'list', 'watch'] },
      ],
    },
    bindingOf('system:metrics-server', name),
    bindingOf('system:auth-delegator', name),
    {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'RoleBinding',
      metadata: { name: 'metrics-server-auth-reader', namespace: 'kube-system' },
      roleRef: {
        apiGroup: 'rbac.authorization.k8s.io',
        kind: 'Role',
        name: 'extension-apiserver-authentication-reader',
      },
      subjects: [{ kind: 'ServiceAccount', name, namespace: 'kube-system' }],
    },
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name, namespace: 'kube-system' },
      spec: { selector: labels(name), ports: [{ port: 443, targetPort: 10250 }] },
    },
    {
      apiVersion: 'apiregistration.k8s.io/v1',
      kind: 'APIService',
      metadata: { name: 'v1beta1.metrics.k8s.io' },
      spec: {
        group: 'metrics.k8s.io',
        version: 'v1beta1',
        service: { name, namespace: 'kube-system' },
        groupPriorityMinimum: 100,
        versionPriority: 100,
        insecureSkipTLSVerify: true,
      },
    },
    deploymentOf(name, 1, {
      serviceAccountName: name,
      containers: [
        {
          name,
          image: metricsImage,
          imagePullPolicy: 'Never',
          args: [
            '--cert-dir=/tmp',
            '--secure-port=10250',
            '--kubelet-insecure-tls',
            '--kubelet-preferred-address-types=InternalIP',
            // It takes no less, and only more than it waits for a kubelet.
            '--metric-resolution=10s',
            '--kubelet-request-timeout=5s',
          ],
          readinessProbe: { httpGet: { path: '/readyz', port: 10250, scheme: 'HTTPS' }, periodSeconds: 1 },
          volumeMounts: [{ name: 'tmp', mountPath: '/tmp' }],
        },
      ],
      volumes: [{ name: 'tmp', emptyDir: {} }],
    }),
  ];
}

function bindingOf(role: string, account: string): object {
  return {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRoleBinding',
    metadata: { name: `${account}:${role}` },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role },
    subjects: [{ kind: 'ServiceAccount', name: account, namespace: 'kube-system' }],
  };
}

/** Spread over the nodes, and kept on one that is silent for a while: what is cut off comes back. */
function deploymentOf(name: string, replicas: number, podSpec: object): object {
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, namespace: 'kube-system' },
    spec: {
      replicas,
      selector: { matchLabels: labels(name) },
      template: {
        metadata: { labels: labels(name) },
        spec: {
          priorityClassName: 'system-cluster-critical',
          terminationGracePeriodSeconds: 5,
          topologySpreadConstraints: [
            {
              maxSkew: 1,
              topologyKey: 'kubernetes.io/hostname',
              whenUnsatisfiable: 'ScheduleAnyway',
              labelSelector: { matchLabels: labels(name) },
            },
          ],
          ...podSpec,
        },
      },
    },
  };
}
