{{- define "millrace.scalerEnv" -}}
{{- include "millrace.commonEnv" . }}
{{- include "millrace.tracesEnv" . }}
{{- include "millrace.redisEnv" (dict "root" . "which" (list "queue" "bus")) }}
- { name: SCALER_NAME, value: {{ .Release.Name | quote }} }
- { name: SCALER_MODELS_FILE, value: /etc/millrace/scaler/models.json }
- { name: KEDA_LISTEN, value: {{ include "millrace.listen" (dict "root" . "port" 9400) | quote }} }
{{- if include "millrace.tlsSecret" (dict "root" . "part" "scaler") }}
- { name: KEDA_TLS_CERT_FILE, value: /etc/millrace/tls/tls.crt }
- { name: KEDA_TLS_KEY_FILE, value: /etc/millrace/tls/tls.key }
- { name: KEDA_TLS_CLIENT_CA_FILE, value: /etc/millrace/tls/ca.crt }
{{- end }}
{{- end }}
