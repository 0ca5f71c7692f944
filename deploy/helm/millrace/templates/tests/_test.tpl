{{/* The Job of one test. Takes root, name, script, account, token, env (YAML), mounts (YAML), volumes (YAML). */}}
{{- define "millrace.test" -}}
{{- $it := merge (dict "component" "test" "values" .root.Values.tests) . }}
apiVersion: batch/v1
kind: Job
metadata:
  {{- include "millrace.metadata" $it | nindent 2 }}
  annotations: { helm.sh/hook: test, helm.sh/hook-delete-policy: "before-hook-creation,hook-succeeded" }
spec:
  backoffLimit: 0
  activeDeadlineSeconds: 600
  template:
    {{- include "millrace.podTemplate" (merge (dict "restartPolicy" "Never") $it) | trim | nindent 4 }}
      containers:
        - name: test
          image: {{ include "millrace.appImage" .root | quote }}
          imagePullPolicy: {{ .root.Values.image.pullPolicy }}
          command: [node, --input-type=module, --eval]
          args:
            - |
              {{- .root.Files.Get (printf "files/scripts/%s.mjs" .script) | nindent 14 }}
          env:
            {{- include "millrace.env" (dict "env" .env) | trim | nindent 12 }}
          resources:
            {{- toYaml .root.Values.tests.resources | nindent 12 }}
          securityContext:
            {{- include "millrace.containerSecurity" . | nindent 12 }}
          volumeMounts:
            - { name: tmp, mountPath: /tmp }
            {{- .mounts | default "" | trim | nindent 12 }}
      volumes:
        - { name: tmp, emptyDir: { sizeLimit: 64Mi } }
        {{- .volumes | default "" | trim | nindent 8 }}
{{- end }}

{{/* The environment of the test of the whole release. */}}
{{- define "millrace.testEnv" -}}
- { name: NAMESPACE, value: {{ .Release.Namespace }} }
- { name: RELEASE, value: {{ .Release.Name }} }
- { name: SCALED, value: {{ .Values.scaler.enabled | quote }} }
- { name: NODE_EXTRA_CA_CERTS, value: /var/run/secrets/kubernetes.io/serviceaccount/ca.crt }
{{- end }}

{{/*
The environment of the test that chats: with a client's key from a Secret, or with the owner's token in dev mode. Takes root
and model.
*/}}
{{- define "millrace.chatEnv" -}}
- { name: GATEWAY_URL, value: "http://{{ .root.Release.Name }}-gateway:8080" }
- { name: MODEL, value: {{ .model | quote }} }
{{- if .root.Values.tests.keySecret.name }}
- { name: API_KEY_FILE, value: /etc/millrace/key/key }
{{- else }}
- { name: ADMIN_URL, value: "http://{{ .root.Release.Name }}-billing-admin:8090" }
- { name: ADMIN_TOKEN_FILE, value: /etc/millrace/secrets/admin-token }
{{- end }}
{{- end }}
{{- define "millrace.chatVolumes" -}}
{{- if .Values.tests.keySecret.name }}
- { name: key, secret: { secretName: {{ .Values.tests.keySecret.name }}, defaultMode: 0440, items: [{ key: {{ .Values.tests.keySecret.key }}, path: key }] } }
{{- else }}
{{- include "millrace.secretVolume" (dict "root" . "volume" "secrets" "names" (list "admin-token")) }}
{{- end }}
{{- end }}
{{- define "millrace.chatMounts" -}}
{{- if .Values.tests.keySecret.name }}
- { name: key, mountPath: /etc/millrace/key, readOnly: true }
{{- else }}
- { name: secrets, mountPath: /etc/millrace/secrets, readOnly: true }
{{- end }}
{{- end }}
