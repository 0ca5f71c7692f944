{{/* Environment of the service and of its migration: root, queue (of redisEnv), pooler. */}}
{{- define "millrace.billingEnv" -}}
{{- include "millrace.commonEnv" .root }}
{{- with include "millrace.tracesEnv" .root }}
{{- . }}
{{- end }}
{{ include "millrace.redisEnv" .queue | trim }}
- { name: DATABASE_URL_FILE, value: /etc/millrace/secrets/database-url }
{{- if .pooler }}
- { name: DATABASE_POOLER, value: transaction }
{{- if .root.Values.database.directUrlSecret.name }}
- { name: DATABASE_DIRECT_URL_FILE, value: /etc/millrace/secrets/database-direct-url }
{{- end }}
{{- end }}
- { name: ADMIN_TOKEN_FILE, value: /etc/millrace/secrets/admin-token }
- { name: RECEIPT_SECRETS_FILE, value: /etc/millrace/secrets/receipt-secrets }
{{- end }}
