{{/* The engine of a worker's pod. All templates take root, model (the model's values) and pool (an entry of millrace.pools). */}}

{{/* The folder in the volume from which the engine reads the weights, or the name that it downloads. */}}
{{- define "millrace.weightsPath" -}}
{{- $weights := .model.weights | default dict }}
{{- if $weights.download }}{{ $weights.path }}{{ else }}/weights/{{ $weights.path | default "" | trimAll "/" }}{{ end }}
{{- end }}

{{/* The container's environment as a map. The model's values override the defaults. */}}
{{- define "millrace.engineEnv" -}}
{{- $own := dict
  "HOME" "/cache" "USER" "millrace" "XDG_CACHE_HOME" "/cache" "XDG_CONFIG_HOME" "/cache/config"
  "HF_HOME" "/cache/huggingface" "VLLM_CACHE_ROOT" "/cache/vllm" "VLLM_CONFIG_ROOT" "/cache/config/vllm"
  "TRITON_CACHE_DIR" "/cache/triton" "TORCHINDUCTOR_CACHE_DIR" "/cache/inductor"
  "VLLM_NO_USAGE_STATS" "1" "DO_NOT_TRACK" "1" "SMG_VLLM_SERVICER_KV_EVENTS" "0" }}
{{- if not (dig "weights" "download" false .model) }}{{ $_ := set $own "HF_HUB_OFFLINE" "1" }}{{ end }}
{{- toJson (mergeOverwrite $own (deepCopy .root.Values.engineDefaults.env) (deepCopy (dig "engine" "env" dict .model))) }}
{{- end }}

{{/* The simulator's configuration of this engine. */}}
{{- define "millrace.simulatorEngine" -}}
{{- $window := int64 .model.contextWindow }}
{{- $engine := dict
  "listen" "127.0.0.1:50051" "model" .pool.model "files" (include "millrace.modelFiles" .)
  "kind" (dig "kind" "chat" .model) "maxNumSeqs" (int .pool.slots) "maxModelLen" $window
  "kvBlocks" (max 8192 (add 1 (div $window 16))) }}
{{- if eq (dig "kind" "chat" .model) "embedding" }}{{ $_ := set $engine "dimension" (int (dig "embedding" "dimensions" 256 .model)) }}{{ end }}
{{- toJson (list $engine) }}
{{- end }}

{{/* The name of the model's file in models/: a file of the image, or the file that the chart renders. */}}
{{- define "millrace.modelFiles" -}}
{{- .model.files | default .pool.key }}
{{- end }}

{{/*
The content of the model's file; empty if a file of the image is used. The file names the folder with the model's small
files, which is mounted from the weights or from a ConfigMap; a simulated engine without a ConfigMap uses models/tiny.
*/}}
{{- define "millrace.modelManifest" -}}
{{- if not .model.files }}
{{- $folder := .pool.key }}
{{- if and (include "millrace.simulated" .root) (not .model.filesConfigMap) }}{{ $folder = "tiny" }}{{ end }}
{{- toJson (dict "family" .model.family "folder" $folder) }}
{{- end }}
{{- end }}

{{/* The mounts of the model's file and folder, in the containers of the worker and of the simulator. */}}
{{- define "millrace.modelMounts" -}}
{{- if not .model.files }}
- { name: model, mountPath: /app/models/{{ .pool.key }}.json, subPath: model.json, readOnly: true }
{{- if .model.filesConfigMap }}
- { name: model-files, mountPath: /app/models/{{ .pool.key }}, readOnly: true }
{{- else if not (include "millrace.simulated" .root) }}
{{- $path := dig "weights" "path" "" .model | trimAll "/" }}
- { name: weights, mountPath: /app/models/{{ .pool.key }}, readOnly: true{{ if $path }}, subPath: {{ $path }}{{ end }} }
{{- end }}
{{- end }}
{{- end }}

{{/* Requests, limits and claims of the engine. A simulated engine uses none of its GPUs. */}}
{{- define "millrace.engineResources" -}}
{{- $simulated := include "millrace.simulated" .root }}
{{- $resources := dict "requests" (dict "cpu" "20m" "memory" "128Mi") "limits" (dict "memory" "768Mi") }}
{{- if not $simulated }}
{{- $resources = mergeOverwrite (deepCopy .root.Values.engineDefaults.resources) (deepCopy (dig "engine" "resources" dict .model)) }}
{{- end }}
{{- if .pool.gpu.claimTemplate }}
{{- $_ := set $resources "claims" (list (dict "name" "gpu")) }}
{{- else if gt (int .pool.gpu.count) 0 }}
{{- $_ := set $resources "limits" (merge (dict .pool.gpu.resource (int .pool.gpu.count)) ($resources.limits | default dict)) }}
{{- end }}
{{- toYaml $resources }}
{{- end }}

{{/*
The engine is a native sidecar: an init container that keeps running. So it starts before the worker and ends after it. It has
no startup probe, so the worker does not wait for it and loads the tokenizer while the engine loads weights. It listens only
on loopback, where no network probe reaches it: the worker watches it, and requests a restart by creating a file.
*/}}
{{- define "millrace.engine" -}}
{{- $root := .root }}
{{- $defaults := $root.Values.engineDefaults }}
- name: engine
  restartPolicy: Always
  {{- if include "millrace.simulated" $root }}
  image: {{ include "millrace.appImage" $root | quote }}
  imagePullPolicy: {{ $root.Values.image.pullPolicy }}
  args: [simulator]
  env:
    - { name: LOG_LEVEL, value: {{ $root.Values.logLevel }} }
    - { name: OPS_HOST, value: 127.0.0.1 }
    - { name: OPS_PORT, value: "9103" }
    - { name: SIMULATOR_ENGINES, value: {{ include "millrace.simulatorEngine" . | quote }} }
  {{- else }}
  {{- $image := mergeOverwrite (deepCopy $defaults.image) (deepCopy (dig "engine" "image" dict .model)) }}
  image: {{ include "millrace.image" (dict "image" $image "tag" "latest") | quote }}
  imagePullPolicy: {{ $image.pullPolicy }}
  command:
    {{- toYaml $defaults.command | nindent 4 }}
  args:
    - {{ include "millrace.weightsPath" . | quote }}
    - --grpc
    - --host=127.0.0.1
    - --port=50051
    - --served-model-name={{ .pool.model }}
    - --max-model-len={{ int64 .model.contextWindow }}
    - --max-num-seqs={{ int .pool.slots }}
    - --tensor-parallel-size={{ max 1 (int .pool.gpu.count) }}
    {{- range concat $defaults.args (dig "engine" "args" list .model) }}
    - {{ . | quote }}
    {{- end }}
  env:
    {{- range $name, $value := include "millrace.engineEnv" . | fromJson }}
    - { name: {{ $name }}, value: {{ $value | quote }} }
    {{- end }}
  {{- with dig "engine" "envSecret" "" .model }}
  envFrom: [{ secretRef: { name: {{ . }} } }]
  {{- end }}
  {{- end }}
  livenessProbe:
    exec: { command: [test, "!", -e, /run/millrace/restart-engine] }
    periodSeconds: 5
    # A busy node may need long to start the probe's process; the engine must not be restarted for that.
    timeoutSeconds: 30
    failureThreshold: 1
    terminationGracePeriodSeconds: 15
  resources:
    {{- include "millrace.engineResources" . | nindent 4 }}
  securityContext:
    {{- include "millrace.containerSecurity" . | nindent 4 }}
  volumeMounts:
    - { name: run, mountPath: /run/millrace, readOnly: true }
    - { name: engine-tmp, mountPath: /tmp }
    {{- if include "millrace.simulated" $root }}
    {{- include "millrace.modelMounts" . | trim | nindent 4 }}
    {{- else }}
    {{- $image := mergeOverwrite (deepCopy $defaults.image) (deepCopy (dig "engine" "image" dict .model)) }}
    {{- /* Compiled kernels are valid for one image, one model and one kind of GPU. */}}
    {{- $subPath := printf "%s/%s/%s" (sha256sum (include "millrace.image" (dict "image" $image "tag" "latest")) | trunc 12) .pool.key (.pool.gpu.class | default "gpu") }}
    - { name: cache, mountPath: /cache{{ if $defaults.cacheVolume }}, subPath: {{ $subPath }}{{ end }} }
    - { name: shm, mountPath: /dev/shm }
    {{- if dig "weights" "volume" dict .model }}
    - { name: weights, mountPath: /weights, readOnly: true }
    {{- end }}
    {{- end }}
{{- end }}
