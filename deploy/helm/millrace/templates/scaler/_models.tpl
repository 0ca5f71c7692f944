{{/* The scaler's configuration in the form that apps/scaler/config.ts reads. Times are in seconds. */}}
{{- define "millrace.scalerModels" -}}
{{- $root := . }}
{{- $pools := list }}
{{- range $pool := include "millrace.pools" . | fromJsonArray }}
{{- $scale := $pool.scale }}
{{- $floors := list }}
{{- range $scale.floors }}{{ $floors = append $floors (dict "cron" .cron "timezone" (dig "timezone" "UTC" .) "min" (int .min)) }}{{ end }}
{{- $pools = append $pools (dict
  "pool" $pool.name "model" $pool.model "gpuClass" (ternary nil $pool.gpu.class (eq $pool.gpu.class ""))
  "gpus" (int $pool.gpu.count) "min" (int $scale.min) "max" (int $scale.max) "floors" $floors
  "priority" (int $scale.priority) "order" (int $pool.order) "slots" (int $pool.slots)
  "targetWaitSeconds" (int $scale.targetWaitSeconds) "utilization" $scale.utilization
  "idleSeconds" (int $scale.idleSeconds) "downWindowSeconds" (int $scale.downWindowSeconds)
  "startSeconds" (int $scale.startSeconds) "spot" $pool.spot) }}
{{- end }}
{{- $budget := dict }}
{{- range $class, $gpus := .Values.scaler.gpuBudget }}{{ $_ := set $budget $class (int $gpus) }}{{ end }}
{{- $tolerance := ternary 0.0 0.1 (eq (include "millrace.knowsTolerance" .) "true") }}
{{- $config := dict "pools" $pools "budget" $budget "gateway" nil "hpaTolerance" $tolerance }}
{{- if include "millrace.gatewayScaled" . }}
{{- $replicas := .Values.gateway.replicas }}
{{- $_ := set $config "gateway" (dict "deployment" (printf "%s-gateway" .Release.Name) "min" (int $replicas.min) "max" (int $replicas.max) "streamsPerPod" (int $replicas.streamsPerPod)) }}
{{- end }}
{{- toPrettyJson $config }}
{{- end }}
