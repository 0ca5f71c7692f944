{{/* Environments of containers. */}}

{{/*
The environment of a container. Takes env (the chart's entries, as YAML) and extra (extraEnv of the values). An entry of
extraEnv replaces every earlier entry with the same name: of two such entries Kubernetes would keep one, and Helm 4 would
fail.
*/}}
{{- define "millrace.env" -}}
{{- $extra := dict }}
{{- $names := list }}
{{- range .extra }}
{{- $names = append (without $names .name) .name }}
{{- $_ := set $extra .name . }}
{{- end }}
{{- range .env | fromYamlArray }}
{{- if not (hasKey $extra .name) }}
- {{ toJson . }}
{{- end }}
{{- end }}
{{- range $names }}
- {{ toJson (get $extra .) }}
{{- end }}
{{- end }}

{{/* Returns host:port of a listener. Takes root and port. An IPv6 address is in brackets. */}}
{{- define "millrace.listen" -}}
{{- $host := .root.Values.listenAddress }}
{{- if contains ":" $host }}[{{ $host }}]{{ else }}{{ $host }}{{ end }}:{{ .port }}
{{- end }}

{{/* The environment of every role. `nodeOptions` adds options of Node for one role. */}}
{{- define "millrace.commonEnv" -}}
- { name: LOG_LEVEL, value: {{ .Values.logLevel }} }
- { name: CELL, value: {{ .Values.cell | quote }} }
- { name: OPS_HOST, value: {{ .Values.listenAddress | quote }} }
- { name: OPS_PORT, value: "9100" }
- { name: NODE_OPTIONS, value: --max-old-space-size-percentage=65{{ with .nodeOptions }} {{ . }}{{ end }} }
{{- end }}

{{/* The environment of roles that send traces. */}}
{{- define "millrace.tracesEnv" -}}
{{- if .Values.monitoring.otlpEndpoint }}
- { name: OTLP_ENDPOINT, value: {{ .Values.monitoring.otlpEndpoint | quote }} }
- { name: TRACE_RATIO, value: {{ .Values.monitoring.traceRatio | quote }} }
{{- end }}
{{- end }}

{{/* The addresses of a role's Redis servers. Takes root and which ("queue", "bus"). The URLs are in files. */}}
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
