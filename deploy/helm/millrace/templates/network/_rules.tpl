{{/* Peers of a rule; none given: every pod of the cluster. */}}
{{- define "millrace.peers" -}}
{{- if . }}{{ toYaml . }}{{ else }}- namespaceSelector: {}{{ end }}
{{- end }}

{{/* One rule of egress: to (none: any address) and ports. */}}
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

{{/* One rule of egress to a component of the release: root, component, port. */}}
{{- define "millrace.toComponent" -}}
- ports: [{ protocol: TCP, port: {{ .port }} }]
  to: {{ include "millrace.fromComponents" (dict "root" .root "components" (list .component)) | nindent 4 }}
{{- end }}

{{/* Peers: components of the release. */}}
{{- define "millrace.fromComponents" -}}
{{- $root := .root }}
{{- range $i, $component := .components }}
{{- if $i }}{{ "\n" }}{{ end -}}
- podSelector:
    matchLabels:
      {{- include "millrace.selector" (dict "root" $root "component" $component) | nindent 6 }}
{{- end }}
{{- end }}
