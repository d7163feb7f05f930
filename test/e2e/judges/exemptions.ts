// Which findings of the judges do we let stand, and why? Everything else they find about the chart is a failure, and so is an
// exemption that nothing is found for any more.

export interface Exemption {
  readonly judge: 'kube-score' | 'checkov';
  readonly check: string;
  /** `Kind name`; without it, every object. */
  readonly objects?: readonly string[];
  /** Sets of values by their names; without them, all. */
  readonly sets?: readonly string[];
  readonly reason: string;
}

export const exemptions: readonly Exemption[] = [
  {
    judge: 'kube-score',
    check: 'container-image-pull-policy',
    reason:
      'Tags are versions and never move; Always would keep pods from starting while the registry is away.',
  },
  {
    judge: 'kube-score',
    check: 'container-resources',
    reason:
      'A CPU limit stops a process in the middle of a stream although the core is free. Memory is limited, requests are set.',
  },
  {
    judge: 'kube-score',
    check: 'container-ephemeral-storage-request-and-limit',
    reason:
      'What pods write is bounded by the size limits of their volumes. Those that write records ask for room; a limit would evict a gateway for a log.',
  },
  {
    judge: 'kube-score',
    check: 'deployment-replicas',
    objects: ['Deployment penstock-simulator'],
    reason: 'The simulator is a demo.',
  },
  {
    judge: 'kube-score',
    check: 'deployment-replicas',
    objects: ['Deployment penstock-ledger'],
    reason: 'It has one volume. Gateways keep the records of a time without it.',
  },
  {
    judge: 'kube-score',
    check: 'deployment-replicas',
    objects: ['Deployment penstock-dashboard'],
    reason: 'Two of them need a Secret that both seal sessions with; dashboard.replicas takes more.',
  },
  {
    judge: 'kube-score',
    check: 'deployment-replicas',
    objects: ['Deployment penstock-gateway'],
    sets: ['KEDA', 'KEDA by CPU alone', 'all left out that others bring'],
    reason: 'KEDA says how many there are, which the judge does not know; or the values ask for none.',
  },
  {
    judge: 'kube-score',
    check: 'container-security-context-user-group-id',
    sets: ['OpenShift, and a Gateway that takes no time limits'],
    reason: 'The cluster chooses user and group, and the judge takes their absence for low numbers.',
  },
  {
    judge: 'kube-score',
    check: 'deployment-has-host-podantiaffinity',
    sets: ['every escape hatch'],
    reason: 'The affinity is that of the values, in place of that of the chart.',
  },
  ...['deployment-has-poddisruptionbudget', 'pod-networkpolicy'].map(
    (check): Exemption => ({
      judge: 'kube-score',
      check,
      sets: ['nothing that guards'],
      reason: 'The values leave them out.',
    }),
  ),
  {
    judge: 'kube-score',
    check: 'service-type',
    objects: ['Service penstock-dashboard'],
    sets: ['a dashboard behind an Ingress, at addresses that are written out'],
    reason: 'The values ask for a NodePort.',
  },
  {
    judge: 'kube-score',
    check: 'deployment-strategy',
    objects: ['Deployment penstock-ledger'],
    reason: 'Two of them cannot have its one volume: the old one ends before the new one starts.',
  },
  {
    judge: 'checkov',
    check: 'CKV_K8S_11',
    reason: 'CPU limits should be set: as for container-resources of kube-score.',
  },
  {
    judge: 'checkov',
    check: 'CKV_K8S_15',
    reason: 'Image Pull Policy should be Always: as for container-image-pull-policy of kube-score.',
  },
  {
    judge: 'checkov',
    check: 'CKV_K8S_43',
    reason:
      'Image should use digest: the chart cannot know it before the image is built; image.digest takes it.',
  },
  {
    judge: 'checkov',
    check: 'CKV_K8S_8',
    objects: ['Pod penstock-test'],
    reason: 'Liveness Probe: the Pod of helm test runs once, and has a deadline.',
  },
  {
    judge: 'checkov',
    check: 'CKV_K8S_9',
    objects: ['Pod penstock-test'],
    reason: 'Readiness Probe: nobody calls the Pod of helm test.',
  },
];
