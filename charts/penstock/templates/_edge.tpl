{{/* HTTPRoute and Ingress of a Service. Takes (dict "root" $ "component" "…" "port" … "httpRoute" … "ingress" …), the
     last two as their values are. */}}
{{- define "penstock.edge" -}}
{{- $name := printf "%s-%s" (include "penstock.instance" .root) .component }}
{{- $labels := include "penstock.labels" . }}
{{- $root := .root }}
{{- $port := .port }}
{{- with .httpRoute }}
{{- if .enabled }}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata:
  name: {{ $name }}
  namespace: {{ $root.Release.Namespace }}
  labels:
    {{- $labels | nindent 4 }}
  {{- with .annotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  parentRefs:
    {{- toYaml .parentRefs | nindent 4 }}
  {{- with .hostnames }}
  hostnames:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  rules:
    - matches:
        - path:
            type: PathPrefix
            value: /
      {{- if .timeouts }}
      # 0s: no limit. The gateway's own timeouts end a stream.
      timeouts:
        request: 0s
        backendRequest: 0s
      {{- end }}
      backendRefs:
        - name: {{ $name }}
          port: {{ $port }}
{{- end }}
{{- end }}
{{- with .ingress }}
{{- if .enabled }}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: {{ $name }}
  namespace: {{ $root.Release.Namespace }}
  labels:
    {{- $labels | nindent 4 }}
  {{- with .annotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  {{- with .className }}
  ingressClassName: {{ . }}
  {{- end }}
  {{- if .tlsSecretName }}
  tls:
    - secretName: {{ .tlsSecretName }}
      hosts:
        {{- toYaml .hosts | nindent 8 }}
  {{- end }}
  rules:
    {{- range .hosts }}
    - host: {{ . | quote }}
      http:
        paths:
          - path: /
            pathType: Prefix
            backend:
              service:
                name: {{ $name }}
                port:
                  name: http
    {{- end }}
{{- end }}
{{- end }}
{{- end -}}
