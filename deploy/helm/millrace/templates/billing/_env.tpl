{{/* The environment of the service. */}}
{{- define "millrace.billingEnv" -}}
{{- include "millrace.commonEnv" . }}
{{- include "millrace.tracesEnv" . }}
{{- include "millrace.redisEnv" (dict "root" . "which" (list "queue")) }}
- { name: DATABASE_URL_FILE, value: /etc/millrace/secrets/database-url }
{{- if and .Values.database.pooler (not .Values.dev.enabled) }}
- { name: DATABASE_POOLER, value: transaction }
{{- if .Values.database.directUrlSecret.name }}
- { name: DATABASE_DIRECT_URL_FILE, value: /etc/millrace/secrets/database-direct-url }
{{- end }}
{{- end }}
- { name: ADMIN_TOKEN_FILE, value: /etc/millrace/secrets/admin-token }
- { name: RECEIPT_SECRETS_FILE, value: /etc/millrace/secrets/receipt-secrets }
{{- if eq .Values.billing.migrations "atStart" }}
- { name: MIGRATE, value: at-start }
- { name: DATABASE_OWNER_URL_FILE, value: /etc/millrace/owner/{{ include "millrace.ownerUrl" . }} }
{{- else }}
- { name: MIGRATE, value: never }
{{- end }}
- { name: GRPC_LISTEN, value: {{ include "millrace.listen" (dict "root" . "port" 50090) | quote }} }
- { name: ADMIN_HOST, value: {{ .Values.listenAddress | quote }} }
- { name: ADMIN_PORT, value: "8090" }
{{- with .Values.billing.keepAliveSeconds }}
- { name: KEEP_ALIVE_TIMEOUT_S, value: {{ int . | quote }} }
{{- end }}
{{- if include "millrace.tlsSecret" (dict "root" . "part" "billing") }}
- { name: GRPC_TLS_CERT_FILE, value: /etc/millrace/tls/tls.crt }
- { name: GRPC_TLS_KEY_FILE, value: /etc/millrace/tls/tls.key }
- { name: GRPC_TLS_CLIENT_CA_FILE, value: /etc/millrace/tls/ca.crt }
{{- end }}
{{- end }}

{{/* The environment of the container that migrates. */}}
{{- define "millrace.migrationEnv" -}}
- { name: LOG_LEVEL, value: {{ .Values.logLevel }} }
- { name: NODE_OPTIONS, value: --max-old-space-size-percentage=65 }
- { name: MIGRATE, value: only }
- { name: DATABASE_OWNER_URL_FILE, value: /etc/millrace/owner/{{ include "millrace.ownerUrl" . }} }
{{- end }}

{{/* Returns the file with the URL of the login that migrates: the owner's, or the service's if the values name no owner. */}}
{{- define "millrace.ownerUrl" -}}
{{- if or .Values.dev.enabled .Values.database.ownerUrlSecret.name }}database-owner-url{{ else }}database-url{{ end }}
{{- end }}
