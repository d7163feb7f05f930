{{/* The instance: prefix of the names of all objects of this installation, and its id in the table. */}}
{{- define "penstock.instance" -}}
{{- if or (gt (len .Release.Name) 40) (contains "." .Release.Name) -}}
{{- fail (printf "the release name %q cannot be used: it must have at most 40 characters and no dot" .Release.Name) -}}
{{- end -}}
{{- .Release.Name -}}
{{- end -}}

{{/* The namespace of the routing table. */}}
{{- define "penstock.tableNamespace" -}}
{{- $name := .Values.tableNamespace.name | default (printf "%s-tables" (include "penstock.instance" .)) -}}
{{- if eq $name .Release.Namespace -}}
{{- fail (printf "tableNamespace.name: %q is the namespace of the release; gateways read every Secret of the table's namespace, so the table needs its own namespace" $name) -}}
{{- end -}}
{{- range $value, $names := dict "rbac.tenantNamespaces" .Values.rbac.tenantNamespaces "platformNamespaces" .Values.platformNamespaces -}}
{{- if has $name $names -}}
{{- fail (printf "tableNamespace.name: %q is in %s; people who work there could read the keys of all upstreams, so the table needs its own namespace" $name $value) -}}
{{- end -}}
{{- end -}}
{{- $name -}}
{{- end -}}

{{- define "penstock.image" -}}
{{- with .Values.global.imageRegistry }}{{ . }}/{{ end -}}
{{- with .Values.image -}}
{{- .repository }}{{ if .digest }}@{{ .digest }}{{ else }}:{{ .tag | default $.Chart.AppVersion }}{{ end -}}
{{- end -}}
{{- end -}}

{{/* Secrets that the chart makes empty, for certificates of the operator; as a list of YAML and of CEL. */}}
{{- define "penstock.certificateSecrets" -}}
['{{ include "penstock.instance" . }}-internal-ca'{{ if .Values.ledger.enabled }}, '{{ include "penstock.instance" . }}-ledger-tls'{{ end }}]
{{- end -}}

{{- define "penstock.gatewayScheme" -}}
{{- ternary "https" "http" (ne .Values.gateway.tls.secretName "") -}}
{{- end -}}

{{/* Origin of the Service, from inside the cluster. */}}
{{- define "penstock.gatewayUrl" -}}
{{- $scheme := include "penstock.gatewayScheme" . -}}
{{- printf "%s://%s-gateway.%s.svc" $scheme (include "penstock.instance" .) .Release.Namespace -}}
{{- if ne (int .Values.gateway.service.port) (ternary 443 80 (eq $scheme "https")) }}:{{ .Values.gateway.service.port }}{{ end -}}
{{- end -}}

{{/* Address that callers use. */}}
{{- define "penstock.publicUrl" -}}
{{- $url := .Values.gateway.publicUrl -}}
{{- $name := `([A-Za-z0-9_]([-A-Za-z0-9_]*[A-Za-z0-9_])?\.)*[A-Za-z]([-A-Za-z0-9_]*[A-Za-z0-9_])?\.?` -}}
{{- $byte := `(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])` -}}
{{- $ipv6 := list `([0-9A-Fa-f]{1,4}:){7}[0-9A-Fa-f]{1,4}` `([0-9A-Fa-f]{1,4}:){1,7}:` `:(:[0-9A-Fa-f]{1,4}){1,7}` `::` -}}
{{- range $count := until 6 -}}
{{- $ipv6 = append $ipv6 (printf `([0-9A-Fa-f]{1,4}:){1,%d}(:[0-9A-Fa-f]{1,4}){1,%d}` (sub 6 $count) (add1 $count)) -}}
{{- end -}}
{{- $host := printf `(%s|(%s\.){3}%s|\[(%s)\])` $name $byte $byte (join "|" $ipv6) -}}
{{- $port := `(:([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5]))?` -}}
{{- if and $url (not (regexMatch (printf `^https?://%s%s(/[^ ?#]+)*/v1$` $host $port) $url)) -}}
{{- fail (printf "gateway.publicUrl: %q is not an address of a gateway; begin with https:// and end with /v1, such as https://models.example.com/v1" $url) -}}
{{- end -}}
{{- $url | default (printf "%s/v1" (include "penstock.gatewayUrl" .)) -}}
{{- end -}}

{{/* Origins of the dashboard, as JSON, in the form of the header `Origin`. */}}
{{- define "penstock.dashboardUrls" -}}
{{- $urls := list -}}
{{- with .Values.dashboard -}}
{{- if .enabled -}}
{{- $urls = .publicUrls -}}
{{- if not $urls -}}
{{- $hosts := list -}}
{{- if .httpRoute.enabled }}{{ $hosts = concat $hosts .httpRoute.hostnames }}{{ end -}}
{{- if .ingress.enabled }}{{ $hosts = concat $hosts .ingress.hosts }}{{ end -}}
{{- range uniq $hosts }}{{ $urls = append $urls (printf "https://%s" .) }}{{ end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- toJson $urls -}}
{{- end -}}

{{/* Labels of everything. Takes (dict "root" $ "component" "…"). */}}
{{- define "penstock.labels" -}}
{{ include "penstock.selectorLabels" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" }}
{{- with .root.Values.commonLabels }}
{{ include "penstock.ownLabels" (dict "labels" . "of" "commonLabels") }}
{{- end }}
{{- end -}}

{{/* Labels from the values. Takes (dict "labels" … "of" "…"). The chart's own names are refused: of two equal names in an object the last would win. */}}
{{- define "penstock.ownLabels" -}}
{{- range $name := list "app.kubernetes.io/name" "app.kubernetes.io/instance" "app.kubernetes.io/component" "app.kubernetes.io/version" "app.kubernetes.io/managed-by" "helm.sh/chart" }}
{{- if hasKey $.labels $name }}
{{- fail (printf "%s: the chart sets the label %s itself; leave it out" $.of $name) }}
{{- end }}
{{- end }}
{{- toYaml .labels }}
{{- end -}}

{{/* Labels by which pods are found; they never change. */}}
{{- define "penstock.selectorLabels" -}}
app.kubernetes.io/name: penstock
app.kubernetes.io/instance: {{ include "penstock.instance" .root }}
app.kubernetes.io/component: {{ .component }}
{{- end -}}

{{/* The same as one line of text. */}}
{{- define "penstock.selector" -}}
app.kubernetes.io/name=penstock,app.kubernetes.io/instance={{ include "penstock.instance" .root }},app.kubernetes.io/component={{ .component }}
{{- end -}}

{{/* The namespace of the demo. */}}
{{- define "penstock.demoNamespace" -}}
{{- .Values.demo.namespace | default (printf "%s-demo" (include "penstock.instance" .)) -}}
{{- end -}}

{{/* Namespaces that the operator serves, as JSON; an empty list: all. */}}
{{- define "penstock.tenantNamespaces" -}}
{{- $names := .Values.rbac.tenantNamespaces -}}
{{- if and .Values.demo.enabled (eq .Values.rbac.scope "namespaces") -}}
{{- $names = append $names (include "penstock.demoNamespace" .) -}}
{{- end -}}
{{- toJson (uniq $names) -}}
{{- end -}}

{{/* The TenantPolicies made from the values, as JSON: one of the platform, one for each tenant, one for each opened range. */}}
{{- define "penstock.tenantPolicies" -}}
{{- $instance := include "penstock.instance" . -}}
{{- /* Each namespace has this label. An empty list of names would be no list, once it had any. */}}
{{- $none := dict "selector" (dict "matchExpressions" (list (dict "key" "kubernetes.io/metadata.name" "operator" "DoesNotExist"))) -}}
{{- $named := dict "names" (uniq .Values.platformNamespaces) -}}
{{- $platform := dict "role" "Platform" "namespaces" (ternary $named $none (gt (len .Values.platformNamespaces) 0)) -}}
{{- $specs := list (list "platform" $platform) -}}
{{- $tenants := dict -}}
{{- range $tenant := .Values.tenants -}}
{{- $before := get $tenants .namespace | default dict -}}
{{- range $what := list "budgets" "limits" -}}
{{- if and (hasKey $before $what) (hasKey $tenant $what) -}}
{{- fail (printf "tenants: the namespace %s has %s twice; put them into one entry" $tenant.namespace $what) -}}
{{- end -}}
{{- end -}}
{{- $_ := set $tenants .namespace (mustMerge (omit . "namespace") $before) -}}
{{- end -}}
{{- range $namespace := keys $tenants | sortAlpha -}}
{{- $spec := mustMerge (dict "namespaces" (dict "names" (list $namespace))) (get $tenants $namespace) -}}
{{- $specs = append $specs (list (printf "tenant-%s" $namespace) $spec) -}}
{{- end -}}
{{- range $at, $opened := include "penstock.egressAllow" . | fromJsonArray -}}
{{- $namespaces := ternary (dict "selector" dict) (dict "names" (uniq $opened.namespaces)) (has "*" $opened.namespaces) -}}
{{- $specs = append $specs (list (printf "egress-%d" $at) (dict "egress" (dict "allow" (list $opened.cidr)) "namespaces" $namespaces)) -}}
{{- end -}}
{{- $policies := list -}}
{{- range $specs -}}
{{- $metadata := dict "name" (printf "%s-%s" $instance (first .)) -}}
{{- $policies = append $policies (dict "apiVersion" "penstock.dev/v1alpha1" "kind" "TenantPolicy" "metadata" $metadata "spec" (last .)) -}}
{{- end -}}
{{- toJson $policies -}}
{{- end -}}

{{/* How long a last known good form serves; the operator accepts a week at most. */}}
{{- define "penstock.lastKnownGood" -}}
{{- $text := .Values.operator.lastKnownGood -}}
{{- $milliseconds := dict "ms" 1 "s" 1000 "m" 60000 "h" 3600000 -}}
{{- $sum := 0.0 -}}
{{- range regexFindAll "[0-9.]+(ms|s|m|h)" $text -1 -}}
{{- $unit := regexFind "[a-z]+$" . -}}
{{- $sum = addf $sum (mulf (trimSuffix $unit . | float64) (get $milliseconds $unit)) -}}
{{- end -}}
{{- if gt $sum (mulf 168 3600000) -}}
{{- fail (printf "operator.lastKnownGood: %q is longer than 168h; write a shorter one, such as 1h" $text) -}}
{{- end -}}
{{- $text -}}
{{- end -}}

{{/* Address ranges that are opened, as JSON. */}}
{{- define "penstock.egressAllow" -}}
{{- $allow := .Values.egress.allow -}}
{{- if .Values.demo.enabled -}}
{{- range .Values.demo.clusterCidrs -}}
{{- $allow = append $allow (dict "cidr" . "namespaces" (list (include "penstock.demoNamespace" $))) -}}
{{- end -}}
{{- end -}}
{{- range $opened := $allow -}}
{{- range concat (include "penstock.metadataCidrs" $ | fromJsonArray) (include "penstock.unopenableCidrs" $ | fromJsonArray) -}}
{{- if and (include "penstock.isInside" (list $opened.cidr .)) (not (include "penstock.isInside" (list $opened.cidr "::1/128"))) -}}
{{- fail (printf "egress.allow: %q lies in %s, which nothing opens; take it out" $opened.cidr .) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- toJson $allow -}}
{{- end -}}

{{/* Metadata services of clouds, as JSON; those of core/egress/address-ranges.ts. */}}
{{- define "penstock.metadataCidrs" -}}
{{- $ipv4 := list "169.254.169.254" "169.254.170.2" "169.254.170.23" "169.254.42.42" "169.254.0.23" "168.63.129.16" "100.100.100.200" "192.0.0.192" -}}
{{- $ipv6 := list "fd00:ec2::254" "fd00:ec2::23" "fd20:ce::254" "fd00:c1::a9fe:a9fe" "fd00:42::42" "fe80::a9fe:a9fe" -}}
{{- $cidrs := list -}}
{{- range $ipv4 }}{{ $cidrs = append $cidrs (printf "%s/32" .) }}{{ end -}}
{{- range $ipv6 }}{{ $cidrs = append $cidrs (printf "%s/128" .) }}{{ end -}}
{{- toJson $cidrs -}}
{{- end -}}

{{/* Ranges that cannot be opened, as JSON; those of core/egress/address-ranges.ts. `::1` lies in one and can be, as 127.0.0.0/8 can. */}}
{{- define "penstock.unopenableCidrs" -}}
["0.0.0.0/8", "::/128", "::/96", "::ffff:0:0/96", "::ffff:0:0:0/96", "64:ff9b::/96", "64:ff9b:1::/48", "2002::/16", "2001::/32"]
{{- end -}}

{{/* The numbers of an address, as JSON: four of 8 bits, or eight of 16. The schema guarantees a valid address. */}}
{{- define "penstock.numbers" -}}
{{- $numbers := list -}}
{{- if contains ":" . -}}
{{- $halves := splitList "::" . -}}
{{- $head := splitList ":" (first $halves) | compact -}}
{{- $tail := list -}}
{{- if gt (len $halves) 1 }}{{ $tail = splitList ":" (last $halves) | compact }}{{ end -}}
{{- range $head }}{{ $numbers = append $numbers (printf "0x%s" . | int64) }}{{ end -}}
{{- range until (add (len $head) (len $tail) | sub 8 | int) }}{{ $numbers = append $numbers 0 }}{{ end -}}
{{- range $tail }}{{ $numbers = append $numbers (printf "0x%s" . | int64) }}{{ end -}}
{{- else -}}
{{- range splitList "." . }}{{ $numbers = append $numbers (int64 .) }}{{ end -}}
{{- end -}}
{{- toJson $numbers -}}
{{- end -}}

{{/* Not empty where the first of two ranges is inside the second one, or equal. */}}
{{- define "penstock.isInside" -}}
{{- $inner := splitList "/" (first .) -}}
{{- $outer := splitList "/" (last .) -}}
{{- $innerNumbers := include "penstock.numbers" (first $inner) | fromJsonArray -}}
{{- $outerNumbers := include "penstock.numbers" (first $outer) | fromJsonArray -}}
{{- $bits := last $outer | int -}}
{{- $isInside := and (eq (len $innerNumbers) (len $outerNumbers)) (ge (last $inner | int) $bits) -}}
{{- if $isInside -}}
{{- $width := ternary 8 16 (eq (len $innerNumbers) 4) -}}
{{- range $index, $number := $innerNumbers -}}
{{- $compared := sub $bits (mul $index $width) | max 0 | min $width -}}
{{- $step := 1 -}}
{{- range until (sub $width $compared | int) }}{{ $step = mul $step 2 }}{{ end -}}
{{- if ne (div $number $step) (div (index $outerNumbers $index) $step) }}{{ $isInside = false }}{{ end -}}
{{- end -}}
{{- end -}}
{{- if $isInside }}it does{{ end -}}
{{- end -}}

{{/* An amount of memory in MiB, such as 768 for 768Mi. */}}
{{- define "penstock.mebibytes" -}}
{{- $unit := regexFind "[A-Za-z]+$" (toString .) -}}
{{- $bytes := dict "" 1 "k" 1e3 "M" 1e6 "G" 1e9 "T" 1e12 "Ki" 1024 "Mi" 1048576 "Gi" 1073741824 "Ti" 1099511627776 -}}
{{- divf (mulf (trimSuffix $unit (toString .) | float64) (get $bytes $unit)) 1048576 | floor | int -}}
{{- end -}}

{{/* What the journal of a gateway may hold. */}}
{{- define "penstock.journalMebibytes" -}}
{{- $mebibytes := include "penstock.mebibytes" .Values.gateway.journalSizeLimit | int -}}
{{- if lt $mebibytes 16 -}}
{{- fail (printf "gateway.journalSizeLimit: %v is less than 16Mi, some 19,000 records; write 16Mi or more" .Values.gateway.journalSizeLimit) -}}
{{- end -}}
{{- $mebibytes -}}
{{- end -}}

{{/* Command of a process. Takes (dict "values" <its section> "script" "…"); optional: "heapPercent" of the memory for the old
     generation (default 75), "youngMib" for the young generation, and "isForCallers" for a process that serves requests: its old
     generation is not collected before it fills a twelfth of the memory, and then by two threads (decision 0051). Without a bound
     the heap grows with the memory of the node, and the kernel kills the process at its limit. */}}
{{- define "penstock.command" -}}
- node
{{- with ((.values.resources).limits).memory }}
{{- $mebibytes := include "penstock.mebibytes" . | int }}
{{- if lt $mebibytes 128 }}
{{- fail (printf "%s.resources.limits.memory: %v is less than 128Mi; the program alone takes most of that" (base $.script | trimSuffix ".js") .) }}
{{- end }}
- --max-old-space-size={{ div (mul $mebibytes (default 75 $.heapPercent)) 100 }}
{{- if $.isForCallers }}
- --initial-old-space-size={{ div (mul $mebibytes 8) 100 }}
- --v8-pool-size=2
{{- end }}
{{- end }}
{{- with .youngMib }}
- --max-semi-space-size={{ div . 2 }}
{{- end }}
{{- range .values.extraArgs }}
- {{ . | quote }}
{{- end }}
- {{ .script }}
{{- end -}}

{{/* Metadata of pods. Takes (dict "root" $ "component" "…" "values" <its section>). */}}
{{- define "penstock.podMetadata" -}}
labels:
  {{- include "penstock.labels" . | nindent 2 }}
  {{- with .values.podLabels }}
  {{- include "penstock.ownLabels" (dict "labels" . "of" (printf "%s.podLabels" $.component)) | nindent 2 }}
  {{- end }}
{{- with .values.podAnnotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "penstock.imagePullSecrets" -}}
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ if kindIs "map" . }}{{ .name }}{{ else }}{{ . }}{{ end }}
  {{- end }}
{{- end }}
{{- end -}}

{{/* Where pods run: apart from each other, where there is room for it. Takes the same as podMetadata. */}}
{{- define "penstock.scheduling" -}}
{{ include "penstock.placement" . }}
{{- if not .values.topologySpreadConstraints }}
topologySpreadConstraints:
  {{- range $key := list "topology.kubernetes.io/zone" "kubernetes.io/hostname" }}
  - maxSkew: 1
    topologyKey: {{ $key }}
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        {{- include "penstock.selectorLabels" $ | nindent 8 }}
    matchLabelKeys: [pod-template-hash]
  {{- end }}
{{- end }}
{{- if not .values.affinity }}
affinity:
  podAntiAffinity:
    preferredDuringSchedulingIgnoredDuringExecution:
      - weight: 100
        podAffinityTerm:
          topologyKey: kubernetes.io/hostname
          labelSelector:
            matchLabels:
              {{- include "penstock.selectorLabels" . | nindent 14 }}
          # Away from each other, not from the old ones that a rollout takes away: after one, all could be on one node.
          matchLabelKeys: [pod-template-hash]
{{- end }}
{{- end -}}

{{/* Where pods run and how they find names, as the values say. Takes the same as podMetadata. */}}
{{- define "penstock.placement" -}}
{{- $said := dict }}
{{- range $name := list "priorityClassName" "runtimeClassName" "nodeSelector" "tolerations" "affinity" "topologySpreadConstraints" "dnsConfig" "hostAliases" }}
{{- with get $.values $name }}{{ $_ := set $said $name . }}{{ end }}
{{- end }}
{{- with $said }}{{ toYaml . }}{{ end }}
{{- end -}}

{{/* Required by the restricted pod security standard. */}}
{{- define "penstock.podSecurityContext" -}}
runAsNonRoot: true
{{- if .Values.podSecurity.fixedUser }}
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532
{{- end }}
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{- define "penstock.containerSecurityContext" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end -}}

{{/* A token of one hour that the kubelet renews, in place of the automatic mount. */}}
{{- define "penstock.tokenVolume" -}}
- name: service-account
  projected:
    defaultMode: 288 # 0440, in every YAML
    sources:
      - serviceAccountToken:
          expirationSeconds: 3600
          path: token
      - configMap:
          name: kube-root-ca.crt
          items:
            - key: ca.crt
              path: ca.crt
      - downwardAPI:
          items:
            - path: namespace
              fieldRef:
                apiVersion: v1
                fieldPath: metadata.namespace
{{- end -}}

{{- define "penstock.tokenMount" -}}
- name: service-account
  mountPath: /var/run/secrets/kubernetes.io/serviceaccount
  readOnly: true
{{- end -}}

{{/* Who may read metrics and health; the kubelet always may. */}}
{{- define "penstock.metricsIngress" -}}
{{- with .Values.networkPolicy.metricsNamespaces -}}
- ports:
    - { protocol: TCP, port: metrics }
  from:
    {{- range . }}
    - namespaceSelector:
        matchLabels:
          kubernetes.io/metadata.name: {{ . }}
    {{- end }}
{{- end -}}
{{- end -}}

{{/* Environment of a process for the OpenTelemetry Collector. */}}
{{- define "penstock.telemetryEnv" -}}
{{- $telemetry := .root.Values.telemetry }}
{{- if $telemetry.endpoint }}
- name: OTEL_EXPORTER_OTLP_ENDPOINT
  value: {{ $telemetry.endpoint | quote }}
{{- with $telemetry.headersSecretName }}
- name: OTEL_EXPORTER_OTLP_HEADERS
  valueFrom:
    secretKeyRef: { name: {{ . }}, key: headers }
{{- end }}
- name: POD_NAME
  valueFrom:
    fieldRef: { fieldPath: metadata.name }
- name: OTEL_SERVICE_NAME
  value: {{ include "penstock.instance" .root }}-{{ .component }}
- name: OTEL_RESOURCE_ATTRIBUTES
  value: k8s.namespace.name={{ .root.Release.Namespace }},k8s.pod.name=$(POD_NAME)
- name: OTEL_METRICS_EXPORTER
  value: {{ ternary "otlp" "none" $telemetry.metrics.enabled }}
- name: OTEL_METRIC_EXPORT_INTERVAL
  value: {{ mul $telemetry.metrics.everySeconds 1000 | quote }}
{{- if eq .component "gateway" }}
- name: OTEL_TRACES_EXPORTER
  value: {{ ternary "otlp" "none" $telemetry.traces.enabled }}
- name: OTEL_TRACES_SAMPLER
  value: parentbased_traceidratio
- name: OTEL_TRACES_SAMPLER_ARG
  value: {{ $telemetry.traces.ratio | quote }}
- name: PENSTOCK_USAGE_EVENTS
  value: {{ $telemetry.usageEvents | quote }}
{{- end }}
{{- end }}
{{- if and (eq .component "gateway") $telemetry.metrics.legacyTokenHistogram }}
- name: PENSTOCK_LEGACY_TOKEN_HISTOGRAM
  value: "true"
{{- end }}
{{- end -}}

{{/* The port of a URL, or the default of its scheme. */}}
{{- define "penstock.portOf" -}}
{{- $url := urlParse . -}}
{{- regexFind ":[0-9]+$" $url.host | trimPrefix ":" | default (ternary "443" "80" (eq $url.scheme "https")) -}}
{{- end -}}

{{- define "penstock.telemetryEgress" -}}
{{- with .Values.telemetry }}
{{- if .endpoint }}
- ports:
    - { protocol: TCP, port: {{ include "penstock.portOf" .endpoint }} }
  to:
    {{- toYaml .peers | nindent 4 }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "penstock.dnsEgress" -}}
- ports:
    {{- range .Values.networkPolicy.dnsPorts }}
    - { protocol: UDP, port: {{ . }} }
    - { protocol: TCP, port: {{ . }} }
    {{- end }}
{{- end -}}

{{/* Every address but those of metadata services, as JSON. */}}
{{- define "penstock.publicRanges" -}}
[
  {
    "cidr": "0.0.0.0/0",
    "except": ["169.254.0.0/16", "168.63.129.16/32", "100.100.100.200/32", "192.0.0.192/32"]
  },
  {
    "cidr": "::/0",
    "except": ["fe80::/10", "fd00:ec2::/32", "fd20:ce::254/128", "fd00:c1::a9fe:a9fe/128", "fd00:42::42/128"]
  }
]
{{- end -}}

{{/* DNS, the API server, public upstreams (with Cilium: cilium-policies.yaml), and the ranges of egress.allow. The metadata services
     of clouds are left out of both. networkPolicy.extraEgress is used unchanged. */}}
{{- define "penstock.upstreamEgress" -}}
{{- if eq .Values.networkPolicy.flavor "Kubernetes" }}
{{- include "penstock.dnsEgress" . }}
- ports:
    {{- range concat .Values.networkPolicy.apiServerPorts .Values.networkPolicy.upstreamPorts | uniq }}
    - { protocol: TCP, port: {{ . }} }
    {{- end }}
  to:
    {{- range include "penstock.publicRanges" . | fromJsonArray }}
    - ipBlock:
        {{- toYaml . | nindent 8 }}
    {{- end }}
{{- end }}
{{- with .Values.egress.allow }}
- to:
    {{- range . }}
    - ipBlock:
        cidr: {{ .cidr | quote }}
        {{- $cidr := .cidr }}
        {{- $except := list }}
        {{- range include "penstock.metadataCidrs" $ | fromJsonArray }}
        {{- if include "penstock.isInside" (list . $cidr) }}{{ $except = append $except . }}{{ end }}
        {{- end }}
        {{- with $except }}
        except: {{ toJson . }}
        {{- end }}
    {{- end }}
{{- end }}
{{- if .Values.demo.enabled }}
- ports:
    - { protocol: TCP, port: 9100 }
  to:
    - namespaceSelector:
        matchLabels:
          kubernetes.io/metadata.name: {{ include "penstock.demoNamespace" . }}
      podSelector:
        matchLabels:
          {{- include "penstock.selectorLabels" (dict "root" . "component" "simulator") | nindent 10 }}
{{- end }}
{{- with .Values.networkPolicy.extraEgress }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* Environment with the ledger's database, for the process and its commands. */}}
{{- define "penstock.ledgerStore" -}}
{{- if .Values.ledger.postgres.secretName -}}
- name: PENSTOCK_LEDGER_URL
  valueFrom:
    secretKeyRef:
      name: {{ .Values.ledger.postgres.secretName }}
      key: {{ .Values.ledger.postgres.secretKey }}
{{- else -}}
- name: PENSTOCK_LEDGER_FILE
  value: /var/lib/penstock/ledger.sqlite
{{- end }}
{{- end -}}
