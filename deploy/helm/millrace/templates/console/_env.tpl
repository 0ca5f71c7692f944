{{- define "millrace.consoleEnv" -}}
{{- $values := .Values.console }}
{{- /* The console makes much short-lived garbage and keeps little. Without this bound V8 takes 64 MB for the garbage. */}}
{{- include "millrace.commonEnv" (merge (dict "nodeOptions" "--max-semi-space-size=4") .) }}
- { name: HOST, value: {{ .Values.listenAddress | quote }} }
- { name: PORT, value: "8091" }
{{- with $values.keepAliveSeconds }}
- { name: KEEP_ALIVE_TIMEOUT_S, value: {{ int . | quote }} }
{{- end }}
{{- with $values.origin }}
- { name: CONSOLE_ORIGIN, value: {{ . | quote }} }
{{- end }}
- { name: BILLING_ADMIN_URL, value: "http://{{ .Release.Name }}-billing-admin:8090" }
{{- with $values.trustedProxies }}
- { name: TRUSTED_PROXIES, value: {{ join "," . | quote }} }
{{- end }}
{{- with $values.docsUrl }}
- { name: DOCS_URL, value: {{ . | quote }} }
{{- end }}
{{- with $values.grafanaUrl }}
- { name: GRAFANA_URL, value: {{ . | quote }} }
{{- end }}
{{- include "millrace.redisEnv" (dict "root" . "which" (list "queue" "bus")) }}
{{- end }}
