{{/*
Names, labels, and computations that several templates need. Functions take the root context, unless they name other
arguments.
*/}}

{{/* The labels of selectors, which never change. Takes root and component. */}}
{{- define "millrace.selector" -}}
app.kubernetes.io/name: millrace
app.kubernetes.io/instance: {{ .root.Release.Name | quote }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{/* The labels of an object that is not a pod: a new version of the chart changes them, and must not replace pods. */}}
{{- define "millrace.labels" -}}
{{ include "millrace.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" }}
{{- end }}

{{/* The metadata of an object. Takes root, component, name. */}}
{{- define "millrace.metadata" -}}
name: {{ .name }}
namespace: {{ .root.Release.Namespace }}
labels:
  {{- include "millrace.labels" . | nindent 2 }}
{{- end }}

{{/* The fields of a Service's spec that choose the kinds of its IP addresses. */}}
{{- define "millrace.ipFamilies" -}}
{{- with .Values.services.ipFamilyPolicy }}
ipFamilyPolicy: {{ . }}
{{- end }}
{{- with .Values.services.ipFamilies }}
ipFamilies:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* Returns the name of an image. Takes image (repository, tag, digest) and tag, which is used if the image names none. */}}
{{- define "millrace.image" -}}
{{- if .image.digest -}}
{{ .image.repository }}@{{ .image.digest }}
{{- else -}}
{{ .image.repository }}:{{ .image.tag | default .tag }}
{{- end }}
{{- end }}

{{- define "millrace.appImage" -}}
{{ include "millrace.image" (dict "image" .Values.image "tag" .Chart.AppVersion) }}
{{- end }}

{{/* "true" where engines are simulated. */}}
{{- define "millrace.simulated" -}}
{{- if or .Values.dev.enabled .Values.engineDefaults.simulate }}true{{ end }}
{{- end }}

{{/* "true" where the gateways are scaled. */}}
{{- define "millrace.gatewayScaled" -}}
{{- if and .Values.scaler.enabled (lt (int .Values.gateway.replicas.min) (int .Values.gateway.replicas.max)) }}true{{ end }}
{{- end }}

{{/*
Returns the pools of all enabled models as JSON: one for each entry of models.X.pools, and one for each model without pools. A
pool is a Deployment and has the Deployment's name. `drainSeconds` and `graceSeconds` are for its pods;
docs/operations/kubernetes.md has the arithmetic.
*/}}
{{- define "millrace.pools" -}}
{{- $root := . }}
{{- $pools := list }}
{{- range $key, $model := .Values.models }}
{{- if ne (toString (dig "enabled" true $model)) "false" }}
{{- $given := dig "pools" dict $model }}
{{- if not $given }}{{ $given = dict "" dict }}{{ end }}
{{- range $name, $pool := $given }}
{{- $scale := mergeOverwrite (deepCopy $root.Values.scaleDefaults) (deepCopy (dig "scale" dict $model)) (deepCopy (pick $pool "min" "max" "keep" "floors")) }}
{{- $drain := int (dig "drainSeconds" $root.Values.deadlineSeconds $model) }}
{{- if dig "spot" false $pool }}{{ $drain = max 0 (sub (int (dig "noticeSeconds" 0 $pool)) 45) }}{{ end }}
{{- $gpu := mergeOverwrite (dict "class" "" "count" 0 "resource" "nvidia.com/gpu" "claimTemplate" "") (deepCopy (dig "gpu" dict $model)) }}
{{- $pools = append $pools (dict
  "name" (printf "%s-%s%s" $root.Release.Name $key (ternary "" (printf "-%s" $name) (eq $name "")))
  "key" $key "pool" $name "model" (dig "id" $key $model)
  "gpu" $gpu "scale" $scale "order" (int (dig "order" 1 $pool)) "slots" (int (dig "slots" 64 $model))
  "spot" (dig "spot" false $pool) "drainSeconds" $drain "graceSeconds" (add $drain 45)
  "nodeSelector" (dig "nodeSelector" dict $pool) "tolerations" (dig "tolerations" list $pool)) }}
{{- end }}
{{- end }}
{{- end }}
{{- toJson $pools }}
{{- end }}

{{/* Converts credits, a decimal text, to nano-credits, a text, without rounding: 0.125 becomes 125000000. */}}
{{- define "millrace.nano" -}}
{{- $parts := splitList "." . }}
{{- $fraction := "" }}
{{- if gt (len $parts) 1 }}{{ $fraction = index $parts 1 }}{{ end }}
{{- regexReplaceAll "^0+([0-9])" (printf "%s%s" (index $parts 0) (printf "%s000000000" $fraction | trunc 9)) "${1}" }}
{{- end }}

{{/* The catalog file: the enabled models that have a price. */}}
{{- define "millrace.catalog" -}}
{{- $root := . }}
{{- $models := list }}
{{- range $key, $model := .Values.models }}
{{- if and (ne (toString (dig "enabled" true $model)) "false") $model.price }}
{{- $entry := dict
  "id" (dig "id" $key $model) "created" (int64 (dig "created" 0 $model)) "ownedBy" $root.Values.catalog.ownedBy
  "kind" (dig "kind" "chat" $model) "contextWindow" (int64 $model.contextWindow)
  "maxOutputTokens" (int64 (dig "maxOutputTokens" 0 $model)) "tools" (dig "tools" true $model)
  "reasoning" (dig "reasoning" false $model) "defaultEffort" (dig "defaultEffort" "off" $model)
  "inputPriceNano" (include "millrace.nano" $model.price.input)
  "cachedInputPriceNano" (include "millrace.nano" $model.price.cachedInput)
  "outputPriceNano" (include "millrace.nano" $model.price.output) "enabled" true }}
{{- if eq (dig "kind" "chat" $model) "embedding" }}
{{- $entry = mergeOverwrite $entry (dict "tools" false "reasoning" false "embedding" (dict "dimensions" (int64 (dig "embedding" "dimensions" 0 $model)) "matryoshka" (dig "embedding" "matryoshka" false $model))) }}
{{- end }}
{{- $models = append $models $entry }}
{{- end }}
{{- end }}
{{- if $models }}{{ toPrettyJson (dict "models" $models) }}{{ end }}
{{- end }}

{{/*
Returns the name of the Secret with a part's certificate, or an empty text. Takes root and part: billing, gateway, scaler or
keda.
*/}}
{{- define "millrace.tlsSecret" -}}
{{- $given := get .root.Values.tls.existingSecrets .part | default "" }}
{{- if $given }}{{ $given }}{{ else if .root.Values.tls.certManager.enabled }}{{ .root.Release.Name }}-{{ .part }}-tls{{ end }}
{{- end }}
