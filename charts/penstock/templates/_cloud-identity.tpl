{{/* The workload identity of gateways at clouds (gateway.cloudIdentity): what pods, policies and the ServiceAccount need for it. */}}

{{- define "penstock.cloudTokenDirectory" -}}
/var/run/secrets/penstock-cloud-identity
{{- end -}}

{{/* Labels of pods, as YAML: the webhook of Azure looks for one. */}}
{{- define "penstock.cloudLabels" -}}
{{- if eq .Values.gateway.cloudIdentity.azure.source "AKS" }}
azure.workload.identity/use: "true"
{{- end }}
{{- end -}}

{{/* Annotations of pods, as YAML. The clouds give an identity to a pod when it is created: other values have to make new pods. */}}
{{- define "penstock.cloudPodAnnotations" -}}
{{- $identity := .Values.gateway.cloudIdentity }}
{{- if has true (list (ne $identity.aws.source "None") (ne $identity.gcp.source "None") (ne $identity.azure.source "None")) }}
penstock.dev/cloud-identity: {{ toJson $identity | sha256sum | trunc 16 | quote }}
{{- end }}
{{- end -}}

{{/* Annotations of the ServiceAccount, as YAML. */}}
{{- define "penstock.cloudAnnotations" -}}
{{- $identity := .Values.gateway.cloudIdentity }}
{{- if eq $identity.aws.source "IRSA" }}
eks.amazonaws.com/role-arn: {{ $identity.aws.roleARN | quote }}
{{- end }}
{{- if and (eq $identity.gcp.source "GKE") $identity.gcp.serviceAccount }}
iam.gke.io/gcp-service-account: {{ $identity.gcp.serviceAccount | quote }}
{{- end }}
{{- if eq $identity.azure.source "AKS" }}
azure.workload.identity/client-id: {{ $identity.azure.clientID | quote }}
{{- with $identity.azure.tenantID }}
azure.workload.identity/tenant-id: {{ . | quote }}
{{- end }}
{{- end }}
{{- end -}}

{{/* Variables, where no webhook of the cloud sets them. */}}
{{- define "penstock.cloudEnv" -}}
{{- $identity := .Values.gateway.cloudIdentity }}
{{- $directory := include "penstock.cloudTokenDirectory" . }}
{{- if and (ne $identity.aws.source "None") $identity.aws.region }}
- name: AWS_REGION
  value: {{ $identity.aws.region | quote }}
{{- end }}
{{- if eq $identity.aws.source "Token" }}
- name: AWS_ROLE_ARN
  value: {{ $identity.aws.roleARN | quote }}
- name: AWS_WEB_IDENTITY_TOKEN_FILE
  value: {{ $directory }}/aws-token
{{- end }}
{{- if eq $identity.gcp.source "Token" }}
- name: GOOGLE_APPLICATION_CREDENTIALS
  value: {{ $directory }}/gcp.json
{{- end }}
{{- if eq $identity.azure.source "Token" }}
- name: AZURE_CLIENT_ID
  value: {{ $identity.azure.clientID | quote }}
- name: AZURE_TENANT_ID
  value: {{ $identity.azure.tenantID | quote }}
- name: AZURE_AUTHORITY_HOST
  value: {{ $identity.azure.authorityHost | quote }}
- name: AZURE_FEDERATED_TOKEN_FILE
  value: {{ $directory }}/azure-token
{{- end }}
{{- end -}}

{{/* Tokens of the cluster for token services, and what Google calls a credential configuration. */}}
{{- define "penstock.cloudVolume" -}}
{{- $identity := .Values.gateway.cloudIdentity }}
{{- $sources := list }}
{{- if eq $identity.aws.source "Token" }}
{{- $sources = append $sources (dict "serviceAccountToken" (dict "audience" $identity.aws.audience "expirationSeconds" 3600 "path" "aws-token")) }}
{{- end }}
{{- if eq $identity.gcp.source "Token" }}
{{- $sources = append $sources (dict "serviceAccountToken" (dict "audience" (printf "https:%s" $identity.gcp.audience) "expirationSeconds" 3600 "path" "gcp-token")) }}
{{- $sources = append $sources (dict "configMap" (dict "name" (printf "%s-gateway-gcp" (include "penstock.instance" .)))) }}
{{- end }}
{{- if eq $identity.azure.source "Token" }}
{{- $sources = append $sources (dict "serviceAccountToken" (dict "audience" $identity.azure.audience "expirationSeconds" 3600 "path" "azure-token")) }}
{{- end }}
{{- if $sources }}
- name: cloud-identity
  projected:
    defaultMode: 288 # 0440, in every YAML
    sources:
      {{- toYaml $sources | nindent 6 }}
{{- end }}
{{- end -}}

{{- define "penstock.cloudMount" -}}
{{- if include "penstock.cloudVolume" . | trim }}
- name: cloud-identity
  mountPath: {{ include "penstock.cloudTokenDirectory" . }}
  readOnly: true
{{- end }}
{{- end -}}

{{/* Ways to services on the node, which the policies leave out otherwise. The process itself dials them for its own identity alone. */}}
{{- define "penstock.cloudEgress" -}}
{{- $identity := .Values.gateway.cloudIdentity }}
{{- if eq $identity.aws.source "PodIdentity" }}
# The agent of EKS Pod Identity.
- ports:
    - { protocol: TCP, port: 80 }
  to:
    - ipBlock: { cidr: 169.254.170.23/32 }
    - ipBlock: { cidr: "fd00:ec2::23/128" }
{{- end }}
{{- if eq $identity.gcp.source "GKE" }}
# The metadata server of GKE, with Dataplane V2 and without.
- ports:
    - { protocol: TCP, port: 80 }
  to:
    - ipBlock: { cidr: 169.254.169.254/32 }
- ports:
    - { protocol: TCP, port: 988 }
  to:
    - ipBlock: { cidr: 169.254.169.252/32 }
{{- end }}
{{- end -}}

{{/* The token services of AWS in the partition of the role or of the region; gateway/upstream/bedrock/identity.ts has the same suffixes. */}}
{{- define "penstock.cloudStsName" -}}
{{- $aws := .Values.gateway.cloudIdentity.aws }}
{{- $suffix := "amazonaws.com" }}
{{- range list
  (list "aws-cn" "cn-" "amazonaws.com.cn")
  (list "aws-eusc" "eusc-" "amazonaws.eu")
  (list "aws-iso" "us-iso-" "c2s.ic.gov")
  (list "aws-iso-b" "us-isob-" "sc2s.sgov.gov")
  (list "aws-iso-f" "us-isof-" "csp.hci.ic.gov")
  (list "aws-iso-e" "eu-isoe-" "cloud.adc-e.uk")
}}
{{- if or (hasPrefix (printf "arn:%s:" (index . 0)) $aws.roleARN) (hasPrefix (index . 1) $aws.region) }}{{ $suffix = index . 2 }}{{ end }}
{{- end }}
{{- printf "sts.*.%s" $suffix }}
{{- end -}}

{{/* Names of token services, as JSON. Resources in a national cloud of Azure get tokens of that cloud's authority. */}}
{{- define "penstock.cloudTokenNames" -}}
{{- $identity := .Values.gateway.cloudIdentity }}
{{- $names := list }}
{{- if ne $identity.aws.source "None" }}{{ $names = append $names (include "penstock.cloudStsName" .) }}{{ end }}
{{- if ne $identity.gcp.source "None" }}{{ $names = concat $names (list "sts.googleapis.com" "iamcredentials.googleapis.com") }}{{ end }}
{{- if ne $identity.azure.source "None" }}
{{- $names = concat $names (list (get (urlParse $identity.azure.authorityHost) "host") "login.microsoftonline.com" "login.microsoftonline.us" "login.chinacloudapi.cn") }}
{{- end }}
{{- toJson $names }}
{{- end -}}
