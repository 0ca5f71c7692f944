{{/* The peers of a rule. If no peers are given, every pod of the cluster is a peer. */}}
{{- define "millrace.peers" -}}
{{- if . }}{{ toYaml . }}{{ else }}- namespaceSelector: {}{{ end }}
{{- end }}

{{/* One egress rule. Takes ports, and to; without to, any address is allowed. */}}
{{- define "millrace.egress" -}}
- ports:
    {{- range .ports }}
    - { protocol: TCP, port: {{ int . }} }
    {{- end }}
  {{- with .to }}
  to:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}

{{/* One egress rule to a component of the release. Takes root, component, port. */}}
{{- define "millrace.toComponent" -}}
- ports: [{ protocol: TCP, port: {{ .port }} }]
  to: {{ include "millrace.fromComponents" (dict "root" .root "components" (list .component)) | nindent 4 }}
{{- end }}

{{/* Peers that are components of the release. Takes root, components. */}}
{{- define "millrace.fromComponents" -}}
{{- $root := .root }}
{{- range $i, $component := .components }}
{{- if $i }}{{ "\n" }}{{ end -}}
- podSelector:
    matchLabels:
      {{- include "millrace.selector" (dict "root" $root "component" $component) | nindent 6 }}
{{- end }}
{{- end }}
