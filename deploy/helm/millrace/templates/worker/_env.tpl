{{/* The environment of a worker. Takes root, model (its values) and pool (an entry of millrace.pools). */}}
{{- define "millrace.workerEnv" -}}
{{- include "millrace.commonEnv" .root }}
{{- include "millrace.tracesEnv" .root }}
- { name: WORKER_NAME, valueFrom: { fieldRef: { fieldPath: metadata.name } } }
- { name: POD_UID, valueFrom: { fieldRef: { fieldPath: metadata.uid } } }
- { name: NODE_NAME, valueFrom: { fieldRef: { fieldPath: spec.nodeName } } }
- { name: POOL, value: {{ .pool.name | quote }} }
{{- include "millrace.redisEnv" (dict "root" .root "which" (list "queue" "bus")) }}
- { name: WORKERS, value: {{ list (dict "model" .pool.model "files" (include "millrace.modelFiles" .) "engine" "127.0.0.1:50051" "maxNumSeqs" (int .pool.slots)) | toJson | quote }} }
- { name: DRAIN_GRACE_MS, value: {{ mul .pool.drainSeconds 1000 | quote }} }
- { name: ENGINE_RESTART_FILE, value: /run/millrace/restart-engine }
- { name: ENGINE_START_LIMIT_MS, value: {{ mul (max 1800 (mul 3 (int .pool.scale.startSeconds))) 1000 | quote }} }
{{- end }}
