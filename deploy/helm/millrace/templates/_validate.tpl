{{/*
Checks rules between fields, which the schema cannot express. Each message names its value, and all are shown at once.
*/}}
{{- define "millrace.validate" -}}
{{- $problems := concat
  (include "millrace.checkServers" . | fromJsonArray)
  (include "millrace.checkScaling" . | fromJsonArray)
  (include "millrace.checkModels" . | fromJsonArray)
  (include "millrace.checkNames" . | fromJsonArray) }}
{{- if $problems }}
{{- fail (printf "\n\n%d wrong value(s):\n- %s\n" (len $problems) (join "\n- " $problems)) }}
{{- end }}
{{- end }}

{{/* Checks Redis, PostgreSQL, certificates and the edge. */}}
{{- define "millrace.checkServers" -}}
{{- $problems := list }}
{{- $values := .Values }}
{{- range $which := list "queue" "bus" }}
{{- $redis := get $values.redis $which }}
{{- if and (eq $redis.mode "sentinel") (not $redis.sentinels) }}
{{- $problems = append $problems (printf "redis.%s.sentinels: mode sentinel needs host:port of at least one" $which) }}
{{- end }}
{{- if and (ne $redis.mode "sentinel") (or $redis.sentinels $redis.sentinelPasswordSecret.name) }}
{{- $problems = append $problems (printf "redis.%s.sentinels: it is for mode sentinel, and mode is %s" $which $redis.mode) }}
{{- end }}
{{- if and (not $values.dev.enabled) (not (and $redis.urlSecret.name $redis.urlSecret.key)) }}
{{- $problems = append $problems (printf "redis.%s.urlSecret: expected name and key" $which) }}
{{- end }}
{{- if and $values.dev.enabled (or (ne $redis.mode "single") (ne $redis.urlSecret.name "millrace-redis")) }}
{{- $problems = append $problems (printf "redis.%s: dev.enabled starts a Redis of its own; set one of the two" $which) }}
{{- end }}
{{- end }}
{{- $database := $values.database }}
{{- if and (not $values.dev.enabled) (not (and $database.urlSecret.name $database.urlSecret.key)) }}
{{- $problems = append $problems "database.urlSecret: expected name and key" }}
{{- end }}
{{- if and $values.dev.enabled (or $database.pooler (ne $database.urlSecret.name "millrace-db") (ne $database.ownerUrlSecret.name "millrace-db")) }}
{{- $problems = append $problems "database: dev.enabled starts a PostgreSQL of its own; set one of the two" }}
{{- end }}
{{- if and $values.dev.enabled (ne $values.secrets.existingSecret "millrace") }}
{{- $problems = append $problems "secrets.existingSecret: dev.enabled generates its own secrets; set one of the two" }}
{{- end }}
{{- if and $database.pooler (not $database.ownerUrlSecret.name) }}
{{- $problems = append $problems "database.ownerUrlSecret: database.pooler needs a direct URL for migrations" }}
{{- end }}
{{- if and $database.directUrlSecret.name (not $database.pooler) }}
{{- $problems = append $problems "database.directUrlSecret: it is for database.pooler, which is off" }}
{{- end }}
{{- $tls := $values.tls }}
{{- range $pair := list (list "billing" "gateway") (list "scaler" "keda") }}
{{- range $i, $part := $pair }}
{{- $other := index $pair (sub 1 $i) }}
{{- if and (get $tls.existingSecrets $part) (not (get $tls.existingSecrets $other)) (not $tls.certManager.enabled) }}
{{- $problems = append $problems (printf "tls.existingSecrets.%s: expected, as %s has one" $other $part) }}
{{- end }}
{{- end }}
{{- end }}
{{- if and $tls.certManager.enabled (not $tls.certManager.issuerRef.name) }}
{{- $problems = append $problems "tls.certManager.issuerRef.name: certManager.enabled needs an issuer" }}
{{- end }}
{{- if and $values.gateway.ingress.enabled (not $values.gateway.ingress.host) }}
{{- $problems = append $problems "gateway.ingress.host: expected where gateway.ingress.enabled" }}
{{- end }}
{{- $console := $values.console }}
{{- if and $console.enabled (or $console.route.parentRefs $console.ingress.enabled) (not (hasPrefix "https://" $console.origin)) }}
{{- $problems = append $problems "console.origin: expected, as https://HOST, where console.route or console.ingress is used" }}
{{- end }}
{{- if and $values.dev.enabled $values.redis.loginsSecret }}
{{- $problems = append $problems "redis.loginsSecret: dev.enabled starts a Redis of its own; set one of the two" }}
{{- end }}
{{- range $field, $secret := $console.redis }}
{{- if ne (empty $secret.name) (empty $secret.key) }}
{{- $problems = append $problems (printf "console.redis.%s: expected name and key, or neither" $field) }}
{{- end }}
{{- if and $values.dev.enabled $secret.name }}
{{- $problems = append $problems (printf "console.redis.%s: dev.enabled starts a Redis of its own; set one of the two" $field) }}
{{- end }}
{{- end }}
{{- if and $values.tests.keySecret.name (not $values.tests.keySecret.key) }}
{{- $problems = append $problems "tests.keySecret.key: expected beside its name" }}
{{- end }}
{{- toJson $problems }}
{{- end }}

{{/* Checks the numbers of replicas and the budget of GPUs. */}}
{{- define "millrace.checkScaling" -}}
{{- $problems := list }}
{{- $values := .Values }}
{{- $budget := $values.scaler.gpuBudget }}
{{- $gateway := $values.gateway.replicas }}
{{- if gt (int $gateway.min) (int $gateway.max) }}
{{- $problems = append $problems (printf "gateway.replicas.min: %d is above max, %d" (int $gateway.min) (int $gateway.max)) }}
{{- end }}
{{- $needed := dict }}
{{- range $pool := include "millrace.pools" . | fromJsonArray }}
{{- $at := printf "models.%s.%s" $pool.key (ternary "scale" (printf "pools.%s" $pool.pool) (eq $pool.pool "")) }}
{{- $min := int $pool.scale.min }}
{{- $max := int $pool.scale.max }}
{{- if gt $min $max }}
{{- $problems = append $problems (printf "%s.min: %d is above max, %d" $at $min $max) }}
{{- end }}
{{- range $i, $floor := $pool.scale.floors }}
{{- with include "millrace.cronProblem" $floor.cron }}
{{- $problems = append $problems (printf "%s.floors[%d].cron: %s" $at $i .) }}
{{- end }}
{{- if gt (int $floor.min) $max }}
{{- $problems = append $problems (printf "%s.floors[%d].min: %d is above max, %d" $at $i (int $floor.min) $max) }}
{{- end }}
{{- end }}
{{- if and (not $values.scaler.enabled) (or (eq $min 0) $pool.scale.floors) }}
{{- $problems = append $problems (printf "%s: min 0 and floors need scaler.enabled; without it a model never starts" $at) }}
{{- end }}
{{- $class := $pool.gpu.class }}
{{- $gpus := int $pool.gpu.count }}
{{- if and $budget (gt $gpus 0) }}
{{- if not $class }}
{{- $problems = append $problems (printf "models.%s.gpu.class: expected, as scaler.gpuBudget counts GPUs by class" $pool.key) }}
{{- else if not (hasKey $budget $class) }}
{{- $problems = append $problems (printf "scaler.gpuBudget.%s: expected, as models.%s has that class" $class $pool.key) }}
{{- end }}
{{- end }}
{{- if $class }}{{ $_ := set $needed $class (add (get $needed $class | default 0 | int) (mul $min $gpus)) }}{{ end }}
{{- if and $class $values.gpuClasses (not (hasKey $values.gpuClasses $class)) }}
{{- $problems = append $problems (printf "gpuClasses.%s: expected, as models.%s has that class" $class $pool.key) }}
{{- end }}
{{- end }}
{{- range $class, $gpus := $budget }}
{{- if gt (get $needed $class | default 0 | int) (int $gpus) }}
{{- $problems = append $problems (printf "scaler.gpuBudget.%s: the models' min take %d GPUs, the budget is %d" $class (get $needed $class | int) (int $gpus)) }}
{{- end }}
{{- end }}
{{- range $class, $_ := $values.placeholders }}
{{- if not (hasKey $values.gpuClasses $class) }}
{{- $problems = append $problems (printf "gpuClasses.%s: expected, as placeholders has that class" $class) }}
{{- end }}
{{- end }}
{{- toJson $problems }}
{{- end }}

{{/* Checks each model by itself. */}}
{{- define "millrace.checkModels" -}}
{{- $problems := list }}
{{- $root := . }}
{{- $simulated := include "millrace.simulated" . }}
{{- $derived := list "--grpc" "--host" "--port" "--model" "--served-model-name" "--max-model-len" "--max-num-seqs" "--tensor-parallel-size" "-tp" }}
{{- range $key, $model := .Values.models }}
{{- if ne (toString (dig "enabled" true $model)) "false" }}
{{- $at := printf "models.%s" $key }}
{{- $weights := $model.weights | default dict }}
{{- if not (or $model.family $model.files) }}
{{- $problems = append $problems (printf "%s.family: expected, or files" $at) }}
{{- end }}
{{- if and $model.files (or $model.family $model.filesConfigMap) }}
{{- $problems = append $problems (printf "%s.files: it names a file of the image; leave out family and filesConfigMap" $at) }}
{{- end }}
{{- if not $simulated }}
{{- if not (or $root.Values.engineDefaults.image.repository (dig "engine" "image" "repository" "" $model)) }}
{{- $problems = append $problems (printf "engineDefaults.image.repository: expected, as %s needs an engine" $at) }}
{{- end }}
{{- if and (not $weights.volume) (not $weights.download) }}
{{- $problems = append $problems (printf "%s.weights: expected a volume, or download: true" $at) }}
{{- end }}
{{- if and $weights.volume $weights.download }}
{{- $problems = append $problems (printf "%s.weights.download: it excludes a volume" $at) }}
{{- end }}
{{- if and $weights.download (not $weights.path) }}
{{- $problems = append $problems (printf "%s.weights.path: expected the name to download" $at) }}
{{- end }}
{{- if and $weights.download (not $model.files) (not $model.filesConfigMap) }}
{{- $problems = append $problems (printf "%s.files: weights.download needs it, or filesConfigMap; the worker has no other tokenizer" $at) }}
{{- end }}
{{- end }}
{{- range $arg := concat $root.Values.engineDefaults.args (dig "engine" "args" list $model) }}
{{- if has (first (splitList "=" $arg)) $derived }}
{{- $problems = append $problems (printf "%s.engine.args: %s derives from other values" $at $arg) }}
{{- end }}
{{- end }}
{{- $isEmbedding := eq (dig "kind" "chat" $model) "embedding" }}
{{- if ne $isEmbedding (not (not $model.embedding)) }}
{{- $problems = append $problems (printf "%s.embedding: expected for kind embedding, and for no other" $at) }}
{{- end }}
{{- if and (not $isEmbedding) (eq (int (dig "maxOutputTokens" 0 $model)) 0) }}
{{- $problems = append $problems (printf "%s.maxOutputTokens: expected at least 1" $at) }}
{{- end }}
{{- if gt (int64 (dig "maxOutputTokens" 0 $model)) (int64 $model.contextWindow) }}
{{- $problems = append $problems (printf "%s.maxOutputTokens: it is above contextWindow" $at) }}
{{- end }}
{{- $gpu := $model.gpu | default dict }}
{{- if and $gpu.claimTemplate (lt (int ($gpu.count | default 0)) 1) }}
{{- $problems = append $problems (printf "%s.gpu.count: expected the number of GPUs that claimTemplate claims" $at) }}
{{- end }}
{{- $rollout := mergeOverwrite (dict "maxSurge" 0 "maxUnavailable" 1) (deepCopy ($model.rollout | default dict)) }}
{{- if and (has (toString $rollout.maxSurge) (list "0" "0%")) (has (toString $rollout.maxUnavailable) (list "0" "0%")) }}
{{- $problems = append $problems (printf "%s.rollout: maxSurge and maxUnavailable cannot both be 0" $at) }}
{{- end }}
{{- if gt (int (dig "drainSeconds" 0 $model)) (int $root.Values.deadlineSeconds) }}
{{- $problems = append $problems (printf "%s.drainSeconds: no generation takes longer than deadlineSeconds, %d" $at (int $root.Values.deadlineSeconds)) }}
{{- end }}
{{- if $model.pools }}
{{- range $field := list "min" "max" "keep" "floors" }}
{{- if hasKey ($model.scale | default dict) $field }}
{{- $problems = append $problems (printf "%s.scale.%s: with pools, each pool has its own" $at $field) }}
{{- end }}
{{- end }}
{{- end }}
{{- range $name, $pool := $model.pools }}
{{- if and $pool.spot (not (hasKey $pool "noticeSeconds")) }}
{{- $problems = append $problems (printf "%s.pools.%s.noticeSeconds: expected, as the pool is spot" $at $name) }}
{{- end }}
{{- if and (not $pool.spot) (hasKey $pool "noticeSeconds") }}
{{- $problems = append $problems (printf "%s.pools.%s.noticeSeconds: it is for spot pools" $at $name) }}
{{- end }}
{{- end }}
{{- if $model.price }}
{{- if gt (include "millrace.nano" $model.price.cachedInput | int64) (include "millrace.nano" $model.price.input | int64) }}
{{- $problems = append $problems (printf "%s.price.cachedInput: it is above input" $at) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- toJson $problems }}
{{- end }}

{{/* Checks that names and ids are unique and short enough. */}}
{{- define "millrace.checkNames" -}}
{{- $problems := list }}
{{- $names := dict }}
{{- $ids := dict }}
{{- range $component := list "gateway" "billing" "scaler" "console" "redis" "postgres" }}
{{- $_ := set $names (printf "%s-%s" $.Release.Name $component) $component }}
{{- end }}
{{- range $class, $_ := .Values.placeholders }}
{{- $_ := set $names (printf "%s-placeholder-%s" $.Release.Name $class) "placeholders" }}
{{- end }}
{{- range $pool := include "millrace.pools" . | fromJsonArray }}
{{- $at := printf "models.%s%s" $pool.key (ternary "" (printf ".pools.%s" $pool.pool) (eq $pool.pool "")) }}
{{- if gt (len $pool.name) 48 }}
{{- $problems = append $problems (printf "%s: the name %s has %d characters, at most 48 fit; shorten the release, the key or the pool" $at $pool.name (len $pool.name)) }}
{{- end }}
{{- if hasKey $names $pool.name }}
{{- $problems = append $problems (printf "%s: the name %s is that of %s too" $at $pool.name (get $names $pool.name)) }}
{{- end }}
{{- $_ := set $names $pool.name $at }}
{{- if and (hasKey $ids $pool.model) (ne (get $ids $pool.model) $pool.key) }}
{{- $problems = append $problems (printf "models.%s.id: %s is the id of models.%s too" $pool.key $pool.model (get $ids $pool.model)) }}
{{- end }}
{{- $_ := set $ids $pool.model $pool.key }}
{{- end }}
{{- if gt (len $.Release.Name) 38 }}
{{- $problems = append $problems (printf "the release's name, %s, has %d characters: at most 38 fit" $.Release.Name (len $.Release.Name)) }}
{{- end }}
{{- toJson $problems }}
{{- end }}
