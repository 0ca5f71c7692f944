{{/* The parts that the pods of all roles share. */}}

{{/* What the restricted level of Pod Security asks of a pod. fsGroup: secrets are readable by their group alone. */}}
{{- define "millrace.podSecurity" -}}
runAsNonRoot: true
runAsUser: {{ . }}
runAsGroup: {{ . }}
fsGroup: {{ . }}
seccompProfile: { type: RuntimeDefault }
{{- end }}

{{- define "millrace.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end }}

{{/*
The fields of a pod before its containers. Takes root, component, values (the workload's part of the values), and grace
where it is not 30 s; account: the name of its ServiceAccount; token: whether the pod calls the API server.
*/}}
{{- define "millrace.podFields" -}}
{{- $values := .values | default dict }}
{{- if .account }}
serviceAccountName: {{ .account }}
{{- end }}
automountServiceAccountToken: {{ .token | default false }}
enableServiceLinks: false
{{- with .root.Values.image.pullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  {{- include "millrace.podSecurity" 1000 | nindent 2 }}
{{- if .grace }}
terminationGracePeriodSeconds: {{ .grace }}
{{- end }}
{{- with $values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with $values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* metadata of a pod: root, component, values, and annotations of the template's own. */}}
{{- define "millrace.podMetadata" -}}
{{- $values := .values | default dict }}
labels:
  {{- include "millrace.selector" . | nindent 2 }}
  {{- with .labels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
  {{- with $values.podLabels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- $annotations := mergeOverwrite (deepCopy (.annotations | default dict)) (deepCopy ($values.podAnnotations | default dict)) }}
{{- with .root.Values.secrets.checksum }}{{ $_ := set $annotations "millrace/secrets-checksum" . }}{{ end }}
{{- with $annotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* Spreads the pods of a component over nodes and zones: root, component, zones (whenUnsatisfiable), labels. */}}
{{- define "millrace.spread" -}}
{{- $selector := mergeOverwrite (include "millrace.selector" . | fromYaml) (deepCopy (.labels | default dict)) }}
{{- range $key, $action := dict "kubernetes.io/hostname" "ScheduleAnyway" "topology.kubernetes.io/zone" (.zones | default "ScheduleAnyway") }}
- maxSkew: 1
  topologyKey: {{ $key }}
  whenUnsatisfiable: {{ $action }}
  nodeTaintsPolicy: Honor
  labelSelector:
    matchLabels:
      {{- toYaml $selector | nindent 6 }}
{{- end }}
{{- end }}

{{/* Environment of every role. `nodeOptions`: further ones of a role. */}}
{{- define "millrace.commonEnv" -}}
- { name: LOG_LEVEL, value: {{ .Values.logLevel }} }
- { name: OPS_HOST, value: 0.0.0.0 }
- { name: OPS_PORT, value: "9100" }
- { name: NODE_OPTIONS, value: --max-old-space-size-percentage=65{{ with .nodeOptions }} {{ . }}{{ end }} }
{{- end }}

{{/* Of the roles that send traces. */}}
{{- define "millrace.tracesEnv" -}}
{{- if .Values.monitoring.otlpEndpoint }}
- { name: OTLP_ENDPOINT, value: {{ .Values.monitoring.otlpEndpoint | quote }} }
- { name: TRACE_RATIO, value: {{ .Values.monitoring.traceRatio | quote }} }
{{- end }}
{{- end }}

{{/* Where the Redis servers of a role are: root, and which ("queue", "bus"). URLs come as files. */}}
{{- define "millrace.redisEnv" -}}
{{- $root := .root }}
{{- range .which }}
{{- $redis := get $root.Values.redis . }}
{{- $prefix := printf "%s_REDIS" (upper .) }}
{{- if $root.Values.dev.enabled }}{{ $redis = dict "mode" "single" }}{{ end }}
- { name: {{ $prefix }}_MODE, value: {{ $redis.mode }} }
- { name: {{ $prefix }}_URL_FILE, value: /etc/millrace/secrets/{{ . }}-redis-url }
{{- if eq $redis.mode "sentinel" }}
- { name: {{ $prefix }}_SENTINELS, value: {{ join "," $redis.sentinels | quote }} }
{{- if $redis.sentinelPasswordSecret.name }}
- { name: {{ $prefix }}_SENTINEL_PASSWORD_FILE, value: /etc/millrace/secrets/{{ . }}-redis-sentinel-password }
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{/* The names of the files that redisEnv refers to, as JSON: root and which. */}}
{{- define "millrace.redisSecrets" -}}
{{- $root := .root }}
{{- $names := list }}
{{- range .which }}
{{- $names = append $names (printf "%s-redis-url" .) }}
{{- $redis := get $root.Values.redis . }}
{{- if and (not $root.Values.dev.enabled) (eq $redis.mode "sentinel") $redis.sentinelPasswordSecret.name }}
{{- $names = append $names (printf "%s-redis-sentinel-password" .) }}
{{- end }}
{{- end }}
{{- toJson $names }}
{{- end }}

{{/* One volume with secrets as files: root, volume, names (of the files); places: those of a role's own. */}}
{{- define "millrace.secretVolume" -}}
{{- $root := .root }}
{{- $values := .root.Values }}
{{- $places := dict
  "queue-redis-url" $values.redis.queue.urlSecret
  "queue-redis-sentinel-password" $values.redis.queue.sentinelPasswordSecret
  "bus-redis-url" $values.redis.bus.urlSecret
  "bus-redis-sentinel-password" $values.redis.bus.sentinelPasswordSecret
  "database-url" $values.database.urlSecret
  "database-owner-url" $values.database.ownerUrlSecret
  "database-direct-url" $values.database.directUrlSecret
  "admin-token" (dict "name" $values.secrets.existingSecret "key" "admin-token")
  "receipt-secrets" (dict "name" $values.secrets.existingSecret "key" "receipt-secrets") }}
{{- $places = merge (deepCopy (.places | default dict)) $places }}
- name: {{ .volume }}
  projected:
    defaultMode: 0440
    sources:
      {{- range .names }}
      {{- $place := get $places . }}
      {{- if $values.dev.enabled }}{{ $place = dict "name" (printf "%s-dev" $root.Release.Name) "key" . }}{{ end }}
      - secret: { name: {{ $place.name }}, items: [{ key: {{ $place.key }}, path: {{ . }} }] }
      {{- end }}
{{- end }}

{{/* Requests and limits of a role: root and resources. In dev mode small ones, so that all fits on one small node. */}}
{{- define "millrace.resources" -}}
{{- if .root.Values.dev.enabled -}}
requests: { cpu: 20m, memory: 128Mi }
limits: { memory: 768Mi }
{{- else -}}
{{ toYaml .resources }}
{{- end }}
{{- end }}

{{/* Where a busy node starts everything at once, a minute is too short, and a start that is cut off and begun anew slows all others. */}}
{{- define "millrace.startSeconds" -}}300{{- end }}

{{/* Probes of a role. Takes startSeconds where they are not the common ones; /healthz answers before the role is ready. */}}
{{- define "millrace.probes" -}}
startupProbe:
  httpGet: { path: /healthz, port: ops }
  periodSeconds: 1
  timeoutSeconds: 5
  failureThreshold: {{ .startSeconds | default (include "millrace.startSeconds" .) }}
livenessProbe:
  httpGet: { path: /healthz, port: ops }
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 6
readinessProbe:
  httpGet: { path: /readyz, port: ops }
  periodSeconds: 5
  timeoutSeconds: 5
{{- end }}

{{/* Mounts and volumes of values.X.extraVolumes. */}}
{{- define "millrace.extraMounts" -}}
{{- range . }}
- { name: {{ .name }}, mountPath: {{ .mountPath }}, readOnly: {{ dig "readOnly" true . }} }
{{- end }}
{{- end }}
{{- define "millrace.extraVolumes" -}}
{{- range . }}
- name: {{ .name }}
  {{- toYaml .volume | nindent 2 }}
{{- end }}
{{- end }}
