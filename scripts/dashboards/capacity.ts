import type { Dashboard } from './dashboard.ts'
import { quantile, rate, select, sumBy } from './expressions.ts'

const tokensPerS = sumBy('namespace', `rate(${select('gen_ai_client_token_usage_sum')}[1h])`)
const gpusInUse = sumBy('namespace', `avg_over_time(${select('millrace_scaler_gpus', 'state="used"')}[1h])`)

/** The dashboard for the platform team. It shows the slots that each model needs and has, and the work of the GPUs. */
export const CAPACITY: Dashboard = {
  name: 'capacity',
  title: 'Capacity',
  panels: [
    {
      title: 'Offered requests by model',
      help: 'Admitted and refused.',
      unit: 'reqps',
      shows: { '{{model}}': sumBy('model', rate('millrace_gateway_admissions_total')) },
    },
    {
      title: 'Need by term, in replicas',
      help: 'The largest term decides. It is measured before max and the GPU budget limit it.',
      unit: 'short',
      shows: { '{{model}} {{term}}': `max by (model, term) (${select('millrace_scaler_need')})` },
    },
    {
      title: 'Target and desired replicas',
      help: 'desired: what the load needs, before the GPU budget. target: what KEDA is answered, after damping and budget.',
      unit: 'short',
      shows: {
        '{{model}} target': sumBy('model', select('millrace_scaler_target')),
        '{{model}} desired': sumBy('model', select('millrace_scaler_desired')),
      },
    },
    {
      title: 'Pods by phase',
      help: 'unscheduled: no GPU found. loading: the engine reads its weights.',
      unit: 'short',
      shows: { '{{phase}}': sumBy('phase', select('millrace_scaler_pods')) },
    },
    {
      title: 'Generations that wait',
      help: 'In the queue, by model.',
      unit: 'short',
      shows: { '{{model}}': `max by (model) (${select('millrace_queue_waiting')})` },
    },
    {
      title: 'Age of the oldest that waits',
      help: 'Twice the target wait for 5 minutes raises an alert.',
      unit: 's',
      shows: { '{{model}}': `max by (model) (${select('millrace_queue_oldest_seconds')})` },
    },
    {
      title: 'Expected wait of the last in the queue',
      help: 'As the console computes it from the queue and from how fast it drains. Empty where no console runs.',
      unit: 's',
      shows: { '{{model}}': `max by (model) (${select('millrace_queue_expected_wait_seconds')})` },
    },
    {
      title: 'Missing slots',
      help: 'Of a model that has to keep up and to empty its queue within 30 s, as the console computes them. Empty where no console runs.',
      unit: 'short',
      shows: { '{{model}}': `max by (model) (${select('millrace_queue_short_slots')})` },
    },
    {
      title: 'Slots in use',
      help: 'Generations that run, of those that the engines can run at once.',
      unit: 'percentunit',
      shows: {
        '{{model}}': `${sumBy('model', select('millrace_worker_running'))} / ${sumBy('model', select('millrace_worker_slots'))}`,
      },
    },
    {
      title: 'Starts of workers, 75th percentile of the time',
      help: 'From the creation of the pod until its worker serves, by pool, over one day.',
      unit: 's',
      shows: {
        '{{pool}}': `histogram_quantile(0.75, sum by (pool, le) (increase(${select('millrace_scaler_start_seconds_bucket')}[1d])))`,
      },
    },
    {
      title: 'Starts and removals of workers per hour',
      help: 'released: chosen by the scaler. unplanned: removed without it.',
      unit: 'short',
      shows: {
        started: `sum(increase(${select('millrace_scaler_start_seconds_count')}[1h]))`,
        released: `sum(increase(${select('millrace_scaler_released_total')}[1h]))`,
        unplanned: `sum(increase(${select('millrace_scaler_unplanned_removals_total')}[1h]))`,
      },
    },
    {
      title: 'Retry-after of warming models',
      help: 'The wait that refused clients were given. The next panel shows how right it was.',
      unit: 's',
      shows: {
        p50: quantile(0.5, 'millrace_gateway_retry_after_seconds', { where: ['outcome="warming"'] }),
        p95: quantile(0.95, 'millrace_gateway_retry_after_seconds', { where: ['outcome="warming"'] }),
      },
    },
    {
      title: 'Error of predicted starts',
      help: 'Difference of the predicted and the real time, over the real one. 0 is right.',
      unit: 'percentunit',
      shows: { '{{pool}}': quantile(0.5, 'millrace_scaler_eta_error_ratio', { by: 'pool' }) },
    },
    {
      title: 'GPUs by class',
      help: 'The budget, and its GPUs that are used, free, and of pods that are being deleted.',
      unit: 'short',
      shows: { '{{class}} {{state}}': sumBy('class, state', select('millrace_scaler_gpus')) },
    },
    {
      title: 'Cordoned workers',
      help: 'They take no more work and run what they have, until they are released or needed again.',
      unit: 'short',
      shows: { '{{model}}': sumBy('model', select('millrace_scaler_cordoned')) },
    },
    {
      title: 'Output tokens per second and GPU',
      help: 'By model, of all GPUs that its pods have.',
      unit: 'short',
      shows: {
        '{{model}}': `${sumBy('model', rate('millrace_worker_tokens_total', 'kind="output"'))} / ${sumBy('model', select('millrace_scaler_model_gpus'))}`,
      },
    },
    {
      title: 'GPU-hours per million billed tokens',
      help: 'Over one hour. It rises when GPUs wait for work.',
      unit: 'short',
      shows: { 'GPU-hours': `${gpusInUse} / (${tokensPerS} * 3600 / 1e6)` },
    },
    {
      title: 'Snapshot of the scalers',
      help: 'Above 10 s the scalers answer KEDA with an error, and numbers of replicas are frozen.',
      unit: 's',
      shows: { '{{pod}}': select('millrace_scaler_snapshot_age_seconds') },
    },
    {
      title: 'Calls of KEDA',
      help: 'By call and answer.',
      unit: 'reqps',
      shows: { '{{call}} {{code}}': sumBy('call, code', rate('millrace_scaler_keda_calls_total')) },
    },
  ],
}
