{{/* The parts that the pods of all roles share. */}}

{{/*
The security context that the restricted level of Pod Security requires of a pod. Takes root, and uid if the image is not
Millrace's. If the cluster gives the ids (podSecurity.setIds: false), it must give an fsGroup, because only their group can read
the secrets.
*/}}
{{- define "millrace.podSecurity" -}}
{{- $security := .root.Values.podSecurity }}
runAsNonRoot: true
{{- if $security.setIds }}
runAsUser: {{ int64 (.uid | default $security.runAsUser) }}
runAsGroup: {{ int64 (.uid | default $security.runAsGroup) }}
fsGroup: {{ int64 (.uid | default $security.fsGroup) }}
{{- end }}
seccompProfile: { type: RuntimeDefault }
{{- end }}

{{- define "millrace.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end }}

{{/* Merges the fields of `pods` with a workload's own values, which win. Takes root and values. Returns JSON. */}}
{{- define "millrace.podValues" -}}
{{- $all := .root.Values.pods }}
{{- $own := .values | default dict }}
{{- $fields := dict "tolerations" (concat (get $own "tolerations" | default list) (get $all "tolerations" | default list) | uniq) }}
{{- range $name := list "nodeSelector" "podAnnotations" "podLabels" }}
{{- $_ := set $fields $name (mergeOverwrite (deepCopy (get $all $name | default dict)) (deepCopy (get $own $name | default dict))) }}
{{- end }}
{{- range $name := list "affinity" "priorityClassName" "runtimeClassName" "schedulerName" }}
{{- $_ := set $fields $name (get $own $name | default (get $all $name)) }}
{{- end }}
{{- toJson $fields }}
{{- end }}

{{/*
The metadata and the spec of a pod up to its containers. Every pod of the chart begins with this template, so that no pod lacks
a field of the values. Takes root, component, values (the workload's part of the values), and optionally:
- labels, annotations, restartPolicy
- account: the name of the pod's ServiceAccount
- token: true if the pod calls the API server
- grace: the grace period in seconds, if it is not 30
- spread: true if the workload has several pods
- zones: whenUnsatisfiable of the spread over zones
- uid: the user, if the image is not Millrace's
- isData: true if the pod keeps data, so that a changed Secret does not replace it
*/}}
{{- define "millrace.podTemplate" -}}
{{- $root := .root }}
{{- $fields := include "millrace.podValues" . | fromJson }}
{{- $annotations := mergeOverwrite (deepCopy (.annotations | default dict)) $fields.podAnnotations }}
{{- if and $root.Values.secrets.checksum (not .isData) }}
{{- $_ := set $annotations "millrace/secrets-checksum" $root.Values.secrets.checksum }}
{{- end }}
metadata:
  labels:
    {{- toYaml (merge (include "millrace.selector" . | fromYaml) (deepCopy (.labels | default dict)) $fields.podLabels) | nindent 4 }}
  {{- with $annotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  {{- with .restartPolicy }}
  restartPolicy: {{ . }}
  {{- end }}
  {{- with .account }}
  serviceAccountName: {{ . }}
  {{- end }}
  automountServiceAccountToken: {{ .token | default false }}
  enableServiceLinks: false
  {{- with $root.Values.image.pullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  securityContext:
    {{- include "millrace.podSecurity" . | trim | nindent 4 }}
  {{- with .grace }}
  terminationGracePeriodSeconds: {{ . }}
  {{- end }}
  {{- range $name := list "priorityClassName" "runtimeClassName" "schedulerName" }}
  {{- with get $fields $name }}
  {{ $name }}: {{ . | quote }}
  {{- end }}
  {{- end }}
  {{- with $fields.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $fields.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $fields.affinity }}
  affinity:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- if .spread }}
  {{- $given := get (.values | default dict) "topologySpreadConstraints" }}
  {{- if not (kindIs "slice" $given) }}{{ $given = include "millrace.spread" . | fromYamlArray }}{{ end }}
  {{- with $given }}
  topologySpreadConstraints:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- end }}
{{- end }}

{{/* Spreads the pods of a component over nodes and zones. Takes root, component, zones (whenUnsatisfiable), labels. */}}
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

{{/* Returns the names of the files that redisEnv refers to, as JSON. Takes root and which. */}}
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

{{/*
One volume with secrets as files. Takes root, volume, names (of the files), login (the beginning of the keys in
redis.loginsSecret), and places: the Secrets that replace the common ones for this role.
*/}}
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
  "receipt-secrets" (dict "name" $values.secrets.existingSecret "key" "receipt-secrets")
  "reasoning-secrets" $values.gateway.reasoningSecret }}
{{- if and .login $values.redis.loginsSecret }}
{{- $_ := set $places "queue-redis-url" (dict "name" $values.redis.loginsSecret "key" (printf "%s-queue-url" .login)) }}
{{- $_ := set $places "bus-redis-url" (dict "name" $values.redis.loginsSecret "key" (printf "%s-bus-urls" .login)) }}
{{- end }}
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

{{/*
The requests and limits of a role. Takes root and resources. In dev mode they are small, so that everything fits on one small
node.
*/}}
{{- define "millrace.resources" -}}
{{- if .root.Values.dev.enabled -}}
requests: { cpu: 20m, memory: 128Mi }
limits: { memory: 768Mi }
{{- else -}}
{{ toYaml .resources }}
{{- end }}
{{- end }}

{{/*
The limit of a start. On a busy node that starts everything at once a minute is too short, and each start that is cut off and
repeated slows the others.
*/}}
{{- define "millrace.startSeconds" -}}300{{- end }}

{{/* The probes of a role. Takes startSeconds if they are not the common ones. /healthz answers before the role is ready. */}}
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

{{/* The mounts and volumes of values.X.extraVolumes. */}}
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
