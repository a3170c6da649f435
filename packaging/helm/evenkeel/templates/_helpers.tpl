{{- define "evenkeel.fullname" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name | trunc 40 | trimSuffix "-" }}
{{- else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 40 | trimSuffix "-" }}{{ end }}
{{- end }}

{{/* Labels that never change, also of pods, so that a new chart alone restarts none: [root, component] */}}
{{- define "evenkeel.selector" -}}
{{- $root := index . 0 -}}
app.kubernetes.io/name: {{ $root.Chart.Name }}
app.kubernetes.io/instance: {{ $root.Release.Name }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end }}

{{- define "evenkeel.labels" -}}
{{- $root := index . 0 -}}
{{ include "evenkeel.selector" . }}
app.kubernetes.io/version: {{ $root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ $root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" $root.Chart.Name $root.Chart.Version }}
{{- end }}

{{/* [root, the role's image] */}}
{{- define "evenkeel.image" -}}
{{- $all := (index . 0).Values.image -}}
{{- $image := index . 1 -}}
{{- with $all.registry }}{{ . | trimSuffix "/" }}/{{ end }}{{ $image.name }}:{{ $image.tag | default $all.tag | default (index . 0).Chart.AppVersion }}
{{- end }}

{{- define "evenkeel.pullSecrets" -}}
{{- with .Values.image.pullSecrets }}
imagePullSecrets: {{ toJson . }}
{{- end }}
{{- end }}

{{- define "evenkeel.podSecurity" -}}
runAsNonRoot: true
runAsUser: 64700
runAsGroup: 64700
fsGroup: 64700
seccompProfile: {type: RuntimeDefault}
{{- end }}

{{- define "evenkeel.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end }}

{{/* On different hosts: a host that is lost takes one of them: [root, component] */}}
{{- define "evenkeel.spread" -}}
- maxSkew: 1
  topologyKey: kubernetes.io/hostname
  whenUnsatisfiable: DoNotSchedule
  labelSelector:
    matchLabels:
      {{- include "evenkeel.selector" . | nindent 6 }}
{{- end }}

{{- define "evenkeel.isAlive" -}}
exec: {command: [/opt/evenkeel/share/evenkeel/containers/is-alive, /run/evenkeel/health]}
{{- end }}

{{- define "evenkeel.liveness" -}}
livenessProbe:
  {{- include "evenkeel.isAlive" . | nindent 2 }}
  initialDelaySeconds: 30
  periodSeconds: 10
  timeoutSeconds: 5
{{- end }}

{{/* Where pods run: a role's values */}}
{{- define "evenkeel.placement" -}}
{{- with .nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "evenkeel.metricsArguments" -}}
{{- if .Values.metrics.port }}
args: [--config-file, /etc/evenkeel-metrics/metrics.ini]
{{- end }}
{{- end }}

{{- define "evenkeel.mounts" -}}
- {name: config, mountPath: /etc/evenkeel, readOnly: true}
- {name: run, mountPath: /run/evenkeel}
- {name: tmp, mountPath: /tmp}
{{- if .Values.metrics.port }}
- {name: metrics, mountPath: /etc/evenkeel-metrics, readOnly: true}
{{- end }}
{{- end }}

{{/* [root, name of the Secret] */}}
{{- define "evenkeel.volumes" -}}
- name: config
  secret: {secretName: {{ index . 1 }}, defaultMode: 0440}
- name: run
  emptyDir: {medium: Memory, sizeLimit: 1Mi}
- name: tmp
  emptyDir: {sizeLimit: 64Mi}
{{- $root := index . 0 }}
{{- if $root.Values.metrics.port }}
- name: metrics
  configMap: {name: {{ include "evenkeel.fullname" $root }}-metrics}
{{- end }}
{{- end }}

{{/* A change of the text is a rolling restart: [root, the role's values] */}}
{{- define "evenkeel.annotations" -}}
{{- with (index . 1).config }}
checksum/config: {{ sha256sum . }}
{{- end }}
{{- with (index . 0).Values.metrics.port }}
checksum/metrics: {{ . | toString | sha256sum }}
{{- end }}
{{- end }}

{{- define "evenkeel.budget" -}}
{{- $root := index . 0 -}}
{{- if $root.Values.podDisruptionBudget.enabled }}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ include "evenkeel.fullname" $root }}-{{ index . 1 }}
  labels:
    {{- include "evenkeel.labels" . | nindent 4 }}
spec:
  maxUnavailable: 1
  selector:
    matchLabels:
      {{- include "evenkeel.selector" . | nindent 6 }}
{{- end }}
{{- end }}

{{- define "evenkeel.controllerSecret" -}}
{{ .Values.controller.existingSecret | default (printf "%s-controller" (include "evenkeel.fullname" .)) }}
{{- end }}

{{/* A text of configuration and a Secret of the operator's exclude each other, and one is needed: [where, values] */}}
{{- define "evenkeel.oneConfiguration" -}}
{{- $values := index . 1 }}
{{- if and $values.config $values.existingSecret }}
{{- fail (printf "%s: config and existingSecret exclude each other: set one" (index . 0)) }}
{{- end }}
{{- if not (or $values.config $values.existingSecret) }}
{{- fail (printf "%s: config (--set-file %s.config=FILE) or existingSecret is needed" (index . 0) (index . 0)) }}
{{- end }}
{{- end }}
