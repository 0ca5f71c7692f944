{{/* The Service of Redis or PostgreSQL. Takes root, component, name, port. */}}
{{- define "millrace.devService" }}
---
apiVersion: v1
kind: Service
metadata:
  {{- include "millrace.metadata" . | nindent 2 }}
spec:
  {{- with include "millrace.ipFamilies" .root | trim }}
  {{- . | nindent 2 }}
  {{- end }}
  selector:
    {{- include "millrace.selector" . | nindent 4 }}
  ports: [{ name: {{ .component }}, port: {{ .port }}, targetPort: {{ .component }} }]
{{- end }}
