// What is installed on the cluster of the short pass? A namespace that takes restricted pods only, and in it two pods behind a
// Service, with an account that may read pods. They run on the image of Penstock, which brings Node.

import { restrictedNamespace } from '../nodes/release.ts';

export const namespace = 'short';

/** What the restricted level asks of every container. */
const restricted = {
  allowPrivilegeEscalation: false,
  capabilities: { drop: ['ALL'] },
  readOnlyRootFilesystem: true,
  runAsNonRoot: true,
  seccompProfile: { type: 'RuntimeDefault' },
};

export const manifestsOn = (image: string, script: string): readonly object[] => [
  {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: namespace, labels: restrictedNamespace },
  },
  {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'echo', namespace },
    data: { 'echo-server.mjs': script },
  },
  { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'echo', namespace } },
  {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'Role',
    metadata: { name: 'echo', namespace },
    rules: [{ apiGroups: [''], resources: ['pods'], verbs: ['list'] }],
  },
  {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'RoleBinding',
    metadata: { name: 'echo', namespace },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'echo' },
    subjects: [{ kind: 'ServiceAccount', name: 'echo', namespace }],
  },
  {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'echo', namespace },
    spec: { selector: { app: 'echo' }, ports: [{ port: 80, targetPort: 8080 }] },
  },
  {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'echo', namespace },
    spec: {
      replicas: 2,
      selector: { matchLabels: { app: 'echo' } },
      template: {
        metadata: { labels: { app: 'echo' } },
        spec: {
          serviceAccountName: 'echo',
          terminationGracePeriodSeconds: 2,
          topologySpreadConstraints: [
            {
              maxSkew: 1,
              topologyKey: 'kubernetes.io/hostname',
              whenUnsatisfiable: 'DoNotSchedule',
              labelSelector: { matchLabels: { app: 'echo' } },
              matchLabelKeys: ['pod-template-hash'],
            },
          ],
          containers: [
            {
              name: 'echo',
              image,
              command: ['node', '/echo/echo-server.mjs'],
              imagePullPolicy: 'Never',
              ports: [{ containerPort: 8080 }],
              env: [
                {
                  name: 'NODE_EXTRA_CA_CERTS',
                  value: '/var/run/secrets/kubernetes.io/serviceaccount/ca.crt',
                },
              ],
              resources: { requests: { cpu: '10m', memory: '32Mi' } },
              readinessProbe: { httpGet: { path: '/ready', port: 8080 }, periodSeconds: 1 },
              securityContext: restricted,
              volumeMounts: [{ name: 'echo', mountPath: '/echo' }],
            },
          ],
          volumes: [{ name: 'echo', configMap: { name: 'echo' } }],
          securityContext: { runAsUser: 65532 },
        },
      },
    },
  },
];

/** One that the namespace must refuse. */
export const privilegedPodOn = (image: string): object => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'privileged', namespace },
  spec: { containers: [{ name: 'it', image, securityContext: { privileged: true } }] },
});

/** Nobody may call the two pods. */
export const closed: object = {
  apiVersion: 'networking.k8s.io/v1',
  kind: 'NetworkPolicy',
  metadata: { name: 'closed', namespace },
  spec: { podSelector: { matchLabels: { app: 'echo' } }, policyTypes: ['Ingress'], ingress: [] },
};
