{{/* Returns the name of the immutable ConfigMap, which contains a hash of its content. */}}
{{- define "millrace.catalogName" -}}
{{- printf "%s-catalog-%s" .Release.Name (printf "%s%s" (include "millrace.catalog" .) (.Files.Get "files/scripts/publish-catalog.mjs") | sha256sum | trunc 10) }}
{{- end }}

{{/* Returns the ids of the enabled models without a price, whose prices are published by hand. */}}
{{- define "millrace.keptModels" -}}
{{- $ids := list }}
{{- range $key, $model := .Values.models }}
{{- if and (ne (toString (dig "enabled" true $model)) "false") (not $model.price) }}{{ $ids = append $ids (dig "id" $key $model) }}{{ end }}
{{- end }}
{{- join "," $ids }}
{{- end }}

{{/*
The spec of the Job that publishes. The spec of a Job cannot be changed, so the Job's name contains the hash of the spec.
*/}}
{{- define "millrace.catalogJob" -}}
{{- $it := dict "root" . "component" "catalog" "values" .Values.catalog }}
backoffLimit: 10
# A refusal is final; a lost node is not.
podFailurePolicy:
  rules:
    - { action: FailJob, onExitCodes: { containerName: publish, operator: In, values: [1, 2] } }
    - { action: Ignore, onPodConditions: [{ type: DisruptionTarget, status: "True" }] }
template:
  {{- include "millrace.podTemplate" (merge (dict "restartPolicy" "Never") $it) | trim | nindent 2 }}
    containers:
      - name: publish
        image: {{ include "millrace.appImage" . | quote }}
        imagePullPolicy: {{ .Values.image.pullPolicy }}
        command: [node, /etc/millrace/catalog/publish-catalog.mjs]
        args:
          - /etc/millrace/catalog/catalog.json
          - http://{{ .Release.Name }}-billing-admin:8090
          - /etc/millrace/secrets/admin-token
          - helm {{ .Release.Namespace }}/{{ .Release.Name }}
          - {{ printf "%s %s" (include "millrace.catalog" .) (include "millrace.keptModels" .) | sha256sum | trunc 16 }}
          - {{ include "millrace.keptModels" . | quote }}
          - {{ .Values.catalog.reason | quote }}
        resources:
          {{- toYaml .Values.catalog.resources | nindent 10 }}
        securityContext:
          {{- include "millrace.containerSecurity" . | nindent 10 }}
        volumeMounts:
          - { name: catalog, mountPath: /etc/millrace/catalog, readOnly: true }
          - { name: secrets, mountPath: /etc/millrace/secrets, readOnly: true }
          - { name: tmp, mountPath: /tmp }
    volumes:
      - { name: tmp, emptyDir: { sizeLimit: 64Mi } }
      - { name: catalog, configMap: { name: {{ include "millrace.catalogName" . }} } }
      {{- include "millrace.secretVolume" (dict "root" . "volume" "secrets" "names" (list "admin-token")) | trim | nindent 6 }}
{{- end }}
