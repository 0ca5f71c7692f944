{{/* "true" where HPAs have a tolerance, so that 54 of 50 replicas is a change. */}}
{{- define "millrace.knowsTolerance" -}}
{{- if semverCompare ">=1.35.0-0" .Capabilities.KubeVersion.Version }}true{{ end }}
{{- end }}

{{/*
spec.replicas of a Deployment that is scaled, or nothing: root, name, keep (of its values). Without it Kubernetes keeps the
number that a scaler set. But where the manifest before had a number, as of a Deployment that was not scaled, Helm would
remove it, and Kubernetes put 1: there the manifest goes on naming the live number, until someone else owns the field. The
annotation says that it did; `keep` is for tools that cannot look into the cluster.
*/}}
{{- define "millrace.scaledReplicas" -}}
{{- $live := lookup "apps/v1" "Deployment" .root.Release.Namespace .name }}
{{- if not $live }}
{{- if not (kindIs "invalid" .keep) }}{{ int .keep }}{{ end }}
{{- else if and (eq (dig "metadata" "annotations" "millrace/replicas" "" $live) "named") (not (include "millrace.replicasOfOthers" $live)) }}
{{- int $live.spec.replicas }}
{{- end }}
{{- end }}

{{/*
"true" where a Deployment's manifest is applied by the server and a scaler or a person owns spec.replicas beside it: then the
field stays when the manifest leaves it out. A client that patches, as Helm 3, removes it whoever owns it.
*/}}
{{- define "millrace.replicasOfOthers" -}}
{{- $isApplied := false }}
{{- $isOwned := false }}
{{- range $manager := .metadata.managedFields }}
{{- $fields := dig "fieldsV1" "f:spec" dict $manager }}
{{- if hasKey $fields "f:template" }}
{{- if eq $manager.operation "Apply" }}{{ $isApplied = true }}{{ end }}
{{- else if hasKey $fields "f:replicas" }}
{{- $isOwned = true }}
{{- end }}
{{- end }}
{{- if and $isApplied $isOwned }}true{{ end }}
{{- end }}

{{/*
The ScaledObject of a pool: root, component, name, min, max. All damping is in the scaler, which knows the pods; so the HPA
follows at once. `tolerance` is text, as KEDA writes it back: a number would become KEDA's own field, and the next upgrade would
fail with a conflict. There is no `fallback` by default: without it KEDA changes nothing as long as no scaler answers.
*/}}
{{- define "millrace.scaledObject" -}}
{{- $root := .root }}
{{- $scaler := $root.Values.scaler }}
{{- $tls := include "millrace.tlsSecret" (dict "root" $root "part" "keda") }}
apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata:
  {{- include "millrace.metadata" . | nindent 2 }}
spec:
  scaleTargetRef: { name: {{ .name }} }
  {{- if eq (int .min) 0 }}
  {{- /* KEDA itself wakes and stops only pools that may go to zero, and warns of the two elsewhere. */}}
  pollingInterval: 5
  cooldownPeriod: 60
  {{- end }}
  minReplicaCount: {{ .min }}
  maxReplicaCount: {{ .max }}
  {{- if not (kindIs "invalid" $scaler.fallbackReplicas) }}
  fallback: { failureThreshold: 12, replicas: {{ $scaler.fallbackReplicas }}, behavior: currentReplicasIfHigher }
  {{- end }}
  advanced:
    horizontalPodAutoscalerConfig:
      behavior:
        {{- $tolerance := include "millrace.knowsTolerance" $root }}
        scaleUp:
          stabilizationWindowSeconds: 0
          {{- if $tolerance }}
          tolerance: "0"
          {{- end }}
          policies: [{ type: Pods, value: {{ .max }}, periodSeconds: 15 }]
        scaleDown:
          stabilizationWindowSeconds: 0
          {{- if $tolerance }}
          tolerance: "0"
          {{- end }}
          policies: [{ type: Percent, value: 100, periodSeconds: 15 }]
  triggers:
    - type: external-push
      metricType: AverageValue
      metadata:
        scalerAddress: {{ $scaler.address | default (printf "%s-scaler.%s.svc:9400" $root.Release.Name $root.Release.Namespace) | quote }}
        pool: {{ .name }}
        {{- if $tls }}
        enableTLS: "true"
        {{- end }}
      {{- if $tls }}
      authenticationRef: { name: {{ $root.Release.Name }}-scaler }
      {{- end }}
{{- end }}
