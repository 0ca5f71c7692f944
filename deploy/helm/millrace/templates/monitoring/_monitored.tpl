{{/* "true" if a part of monitoring is wanted. In dev mode, kinds that the cluster lacks are left out. Takes root, part, kind. */}}
{{- define "millrace.monitored" -}}
{{- $hasKind := .root.Capabilities.APIVersions.Has (printf "monitoring.coreos.com/v1/%s" .kind) }}
{{- if and (get .root.Values.monitoring .part) (or $hasKind (not .root.Values.dev.enabled)) }}true{{ end }}
{{- end }}
