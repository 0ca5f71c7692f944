{{/*
"true" if HPAs have a settable tolerance. Without it an HPA ignores a change of up to 10 %, such as from 50 to 54 replicas.
*/}}
{{- define "millrace.knowsTolerance" -}}
{{- if semverCompare ">=1.35.0-0" .Capabilities.KubeVersion.Version }}true{{ end }}
{{- end }}

{{/*
Returns spec.replicas of a Deployment that is scaled, or an empty text. Takes root, name, keep (of its values). If the manifest
has no number, Kubernetes keeps the number that a scaler set. But if the earlier manifest had a number, because the Deployment
was not scaled, Helm would remove the field and Kubernetes would set it to 1. Then the manifest continues to name the live number
until somebody else owns the field; the annotation records this. `keep` is for tools that cannot look into the cluster.
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
"true" if the server applies a Deployment's manifest, and a scaler or a person also owns spec.replicas: then the field stays when
the manifest leaves it out. A client that patches, such as Helm 3, removes the field whoever owns it.
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
The ScaledObject of a pool. Takes root, component, name, min, max. The scaler, which knows the pods, does all damping, so the HPA
follows at once. `tolerance` is a text, because KEDA writes it back as a text: with a number KEDA would become the owner of the
field, and the next upgrade would fail with a conflict. By default there is no `fallback`, so KEDA changes nothing while no scaler
answers.
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
  {{- /* KEDA uses these two fields only for pools that may go to zero, and warns about them in other pools. */}}
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
