import type { Dashboard } from './dashboard.ts'
import { mean, quantile, rate, select, sumBy } from './expressions.ts'

const GEN_AI = 'gen_ai_request_model="$model"'
const MODEL = 'model="$model"'
const FIRST_TOKEN = 'gen_ai_server_time_to_first_token_seconds'
const QUEUE_WAIT = 'millrace_worker_queue_wait_seconds'
const FIRST_CHUNK = 'gen_ai_client_operation_time_to_first_chunk_seconds'
const TOKENS = 'gen_ai_client_token_usage_sum'

/** The dashboard for a model's owner. It shows how long each step of a request takes, and the work of the engines. */
export const MODEL_DASHBOARD: Dashboard = {
  name: 'model',
  title: 'One model',
  byModel: true,
  panels: [
    {
      title: 'Time to the first token',
      help: 'As clients see it.',
      unit: 's',
      shows: {
        p50: quantile(0.5, FIRST_TOKEN, { where: [GEN_AI] }),
        p95: quantile(0.95, FIRST_TOKEN, { where: [GEN_AI] }),
        p99: quantile(0.99, FIRST_TOKEN, { where: [GEN_AI] }),
      },
    },
    {
      title: 'Its parts, means',
      help: 'queue: until a worker claims it. prefill: from the call of the engine to its first output. rest: admission, reservation, rendering and transport.',
      unit: 's',
      shows: {
        queue: mean(QUEUE_WAIT, MODEL),
        prefill: mean(FIRST_CHUNK, GEN_AI),
        rest: `clamp_min((${mean(FIRST_TOKEN, GEN_AI)}) - (${mean(QUEUE_WAIT, MODEL)}) - (${mean(FIRST_CHUNK, GEN_AI)}), 0)`,
      },
    },
    {
      title: 'Queue wait, 95th percentile',
      help: 'From the creation of a generation to its claim by a worker.',
      unit: 's',
      shows: { p95: quantile(0.95, QUEUE_WAIT, { where: [MODEL] }) },
    },
    {
      title: 'Time per output token',
      help: 'The objective is 80 ms for 95 %.',
      unit: 's',
      shows: {
        p50: quantile(0.5, 'gen_ai_server_time_per_output_token_seconds', { where: [GEN_AI] }),
        p95: quantile(0.95, 'gen_ai_server_time_per_output_token_seconds', { where: [GEN_AI] }),
      },
    },
    {
      title: 'Billed tokens per second',
      help: 'Counted when a generation ends.',
      unit: 'short',
      shows: { '{{gen_ai_token_type}}': sumBy('gen_ai_token_type', rate(TOKENS, GEN_AI)) },
    },
    {
      title: 'Output tokens per second and worker',
      help: 'It grows with the batch until the GPU is full.',
      unit: 'short',
      shows: {
        tokens: `sum(${rate(TOKENS, GEN_AI, 'gen_ai_token_type="output"')}) / count(${select('millrace_worker_slots', MODEL)})`,
      },
    },
    {
      title: 'Output tokens per second and GPU',
      help: 'Of all GPUs that pods of the model have, loading ones too. It falls when GPUs wait for work.',
      unit: 'short',
      shows: {
        tokens: `sum(${rate('millrace_worker_tokens_total', MODEL, 'kind="output"')}) / sum(${select('millrace_scaler_model_gpus', MODEL)})`,
      },
    },
    {
      title: 'Prefix-cache hits',
      help: 'Tokens of the prompts that the engines had in their prefix caches, of all tokens of the prompts.',
      unit: 'percentunit',
      shows: {
        hits: `sum(${rate('millrace_worker_tokens_total', MODEL, 'kind="cached"')}) / sum(${rate('millrace_worker_tokens_total', MODEL, 'kind="prompt"')})`,
      },
    },
    {
      title: 'Batch',
      help: 'Generations that run, and the slots of all workers.',
      unit: 'short',
      shows: {
        running: `sum(${select('millrace_worker_running', MODEL)})`,
        slots: `sum(${select('millrace_worker_slots', MODEL)})`,
      },
    },
    {
      title: 'KV cache, in tokens',
      help: 'As the engines report it.',
      unit: 'short',
      shows: { '{{state}}': sumBy('state', select('millrace_worker_kv_tokens', MODEL)) },
    },
    {
      title: 'Length of the calls of engines',
      help: 'One call for each generation that a worker runs.',
      unit: 's',
      shows: {
        p50: quantile(0.5, 'gen_ai_client_operation_duration_seconds', { where: [GEN_AI] }),
        p95: quantile(0.95, 'gen_ai_client_operation_duration_seconds', { where: [GEN_AI] }),
      },
    },
    {
      title: 'Errors',
      help: 'Requests that did not end well, by the error.',
      unit: 'reqps',
      shows: {
        '{{error_type}}': sumBy(
          'error_type',
          rate('gen_ai_server_request_duration_seconds_count', GEN_AI, 'error_type!=""'),
        ),
      },
    },
    {
      title: 'Restarts of engines and generations given back, per hour',
      help: 'A worker restarts an engine that is dead, silent or does not come up.',
      unit: 'short',
      shows: {
        restarts: `sum(increase(${select('millrace_worker_engine_restarts_total', MODEL)}[1h]))`,
        '{{reason}}': sumBy('reason', `increase(${select('millrace_worker_declines_total', MODEL)}[1h])`),
      },
    },
    {
      title: 'Workers by phase',
      help: 'As the workers report it.',
      unit: 'short',
      shows: { '{{phase}}': sumBy('phase', select('millrace_worker_phase', MODEL)) },
    },
    {
      title: 'Time of loading',
      help: 'From the start of a worker to its engine’s first readiness, median over one day.',
      unit: 's',
      shows: {
        median: `histogram_quantile(0.5, sum by (le) (increase(${select('millrace_worker_load_seconds_bucket', MODEL)}[1d])))`,
      },
    },
  ],
}
