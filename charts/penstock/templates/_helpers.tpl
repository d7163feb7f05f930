{{/* The instance: names all that belongs to this installation, in the cluster and in the table. */}}
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
{{- fail (printf "tableNamespace.name: %q is the namespace of the release; gateways read every Secret of the table's namespace, so it must be one of its own" $name) -}}
{{- end -}}
{{- $name -}}
{{- end -}}

{{- define "penstock.image" -}}
{{- with .Values.image -}}
{{- .repository }}{{ if .digest }}@{{ .digest }}{{ else }}:{{ .tag | default $.Chart.AppVersion }}{{ end -}}
{{- end -}}
{{- end -}}

{{/* Address that callers use. */}}
{{- define "penstock.publicUrl" -}}
{{- .Values.gateway.publicUrl | default (printf "http://%s-gateway.%s.svc/v1" (include "penstock.instance" .) .Release.Namespace) -}}
{{- end -}}

{{/* Labels of everything. Takes (dict "root" $ "component" "…"). */}}
{{- define "penstock.labels" -}}
{{ include "penstock.selectorLabels" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" }}
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

{{/* What every pod must promise under the restricted pod security standard. */}}
{{- define "penstock.podSecurityContext" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{- define "penstock.containerSecurityContext" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end -}}

{{/* A token of one hour that is renewed in its place, instead of one that is mounted unasked. */}}
{{- define "penstock.tokenVolume" -}}
- name: service-account
  projected:
    defaultMode: 0440
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
