{{- define "millrace.gatewayEnv" -}}
{{- $values := .Values.gateway }}
{{- include "millrace.commonEnv" . }}
{{- include "millrace.tracesEnv" . }}
- { name: HOST, value: {{ .Values.listenAddress | quote }} }
- { name: PORT, value: "8080" }
{{- include "millrace.redisEnv" (dict "root" . "which" (list "queue" "bus")) }}
- { name: BILLING_ADDRESS, value: "{{ .Release.Name }}-billing:50090" }
- { name: GENERATION_DEADLINE_MS, value: {{ mul .Values.deadlineSeconds 1000 | quote }} }
- { name: DRAIN_GRACE_MS, value: {{ mul .Values.deadlineSeconds 1000 | quote }} }
{{- if or .Values.dev.enabled $values.reasoningSecret.name }}
- { name: REASONING_SECRETS_FILE, value: /etc/millrace/secrets/reasoning-secrets }
{{- end }}
{{- with $values.keepAliveSeconds }}
- { name: KEEP_ALIVE_TIMEOUT_S, value: {{ int . | quote }} }
{{- end }}
{{- if include "millrace.catalog" . }}
- { name: FALLBACK_CATALOG, value: /etc/millrace/catalog/catalog.json }
{{- end }}
{{- if include "millrace.tlsSecret" (dict "root" . "part" "gateway") }}
- { name: BILLING_TLS_CA_FILE, value: /etc/millrace/tls/ca.crt }
- { name: BILLING_TLS_CERT_FILE, value: /etc/millrace/tls/tls.crt }
- { name: BILLING_TLS_KEY_FILE, value: /etc/millrace/tls/tls.key }
{{- end }}
{{- end }}
