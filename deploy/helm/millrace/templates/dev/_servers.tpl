{{/* What the pods of Redis and PostgreSQL share. */}}
{{- define "millrace.devService" }}
---
apiVersion: v1
kind: Service
metadata:
  {{- include "millrace.metadata" . | nindent 2 }}
spec:
  selector:
    {{- include "millrace.selector" . | nindent 4 }}
  ports: [{ name: {{ .component }}, port: {{ .port }}, targetPort: {{ .component }} }]
{{- end }}
{{- define "millrace.devPod" }}
automountServiceAccountToken: false
enableServiceLinks: false
securityContext:
  {{- include "millrace.podSecurity" 999 | nindent 2 }}
{{- end }}
