{{/* "true" where a part of monitoring is wanted. Dev mode leaves out kinds that the cluster lacks. root, part, kind. */}}
{{- define "millrace.monitored" -}}
{{- $hasKind := .root.Capabilities.APIVersions.Has (printf "monitoring.coreos.com/v1/%s" .kind) }}
{{- if and (get .root.Values.monitoring .part) (or $hasKind (not .root.Values.dev.enabled)) }}true{{ end }}
{{- end }}
