{{/* Access from outside to a Service that streams its answers. Both templates take root, component and name. */}}

{{/* An Ingress. Takes also host, and ingress (className, tlsSecret, annotations). */}}
{{- define "millrace.ingress" -}}
{{- $defaults := dict
  "nginx.ingress.kubernetes.io/proxy-buffering" "off"
  "nginx.ingress.kubernetes.io/proxy-request-buffering" "off"
  "nginx.ingress.kubernetes.io/proxy-read-timeout" "3600"
  "nginx.ingress.kubernetes.io/proxy-send-timeout" "3600"
  "nginx.ingress.kubernetes.io/proxy-body-size" "32m"
  "nginx.ingress.kubernetes.io/proxy-next-upstream" "off" }}
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  {{- include "millrace.metadata" . | nindent 2 }}
  annotations:
    {{- toYaml (mergeOverwrite $defaults (deepCopy .ingress.annotations)) | nindent 4 }}
spec:
  {{- with .ingress.className }}
  ingressClassName: {{ . }}
  {{- end }}
  {{- if .ingress.tlsSecret }}
  tls: [{ hosts: [{{ .host | quote }}], secretName: {{ .ingress.tlsSecret }} }]
  {{- end }}
  rules:
    - host: {{ .host | quote }}
      http:
        paths:
          - path: /
            pathType: Prefix
            backend: { service: { name: {{ .name }}, port: { name: http } } }
{{- end }}

{{/* An HTTPRoute. Takes also parentRefs, hostnames and port. */}}
{{- define "millrace.route" -}}
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata:
  {{- include "millrace.metadata" . | nindent 2 }}
spec:
  parentRefs:
    {{- toYaml .parentRefs | nindent 4 }}
  {{- with .hostnames }}
  hostnames:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  rules:
    - backendRefs: [{ name: {{ .name }}, port: {{ .port }} }]
      # No time-out: a stream may last long, and the server ends it. A controller's default time-out would cut it.
      timeouts: { request: 0s, backendRequest: 0s }
{{- end }}
