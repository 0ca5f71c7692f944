import type { AlertCase } from './alert-cases.ts'

const HTTP = 'millrace_http_requests_total{namespace="ai",route="/v1/chat/completions"'
const FIRST_TOKEN = 'gen_ai_server_time_to_first_token_seconds'
const START = 'millrace_scaler_start_seconds_bucket{namespace="ai",pool="m"'

/** Objectives, models and the scaler. */
export const LOAD_CASES: readonly AlertCase[] = [
  {
    alert: 'MillraceErrorBudgetBurnFast',
    at: '70m',
    fires: {
      series: {
        [`${HTTP},status="200",code="ok"}`]: '0+58x80',
        [`${HTTP},status="503",code="model_unavailable"}`]: '0+1x80',
        [`${HTTP},status="200",code="upstream_error"}`]: '0+1x80',
      },
      labels: { namespace: 'ai', slo: 'availability', severity: 'page' },
      summary: 'The budget of availability is used up 33.33 times too fast',
    },
    // The same share of errors, in so few requests that it says nothing; and clients' own errors.
    silent: {
      [`${HTTP},status="200",code="ok"}`]: '0 0+0x40 0+1x10 10x80',
      [`${HTTP},status="503",code="model_unavailable"}`]: '0 0+0x60 0+1x1 1x80',
      [`${HTTP},status="429",code="model_warming"}`]: '0+1x3 3x80',
    },
  },
  {
    alert: 'MillraceErrorBudgetBurnSlow',
    at: '30h',
    fires: {
      series: {
        'millrace_gateway_admissions_total{namespace="ai",model="m",outcome="admitted"}': '0+95x1800',
        'millrace_gateway_admissions_total{namespace="ai",model="m",outcome="busy"}': '0+5x1800',
      },
      labels: { namespace: 'ai', model: 'm', slo: 'admission', severity: 'ticket' },
      summary: 'The budget of admission of m does not last the 28 days',
    },
    silent: {
      'millrace_gateway_admissions_total{namespace="ai",model="m",outcome="admitted"}': '0+995x1800',
      'millrace_gateway_admissions_total{namespace="ai",model="m",outcome="busy"}': '0+5x1800',
      'millrace_gateway_admissions_total{namespace="ai",model="test/busy",outcome="busy"}': '0+5x1800',
    },
  },
  {
    alert: 'MillraceTtftBurn',
    at: '70m',
    fires: {
      series: {
        [`${FIRST_TOKEN}_count{namespace="ai",gen_ai_request_model="m"}`]: '0+10x80',
        [`${FIRST_TOKEN}_bucket{namespace="ai",gen_ai_request_model="m",le="2"}`]: '0+2x80',
      },
      labels: { namespace: 'ai', model: 'm', slo: 'time-to-first-token', severity: 'page' },
      summary: 'First tokens of m come later than 2 s for too many requests',
    },
    silent: {
      [`${FIRST_TOKEN}_count{namespace="ai",gen_ai_request_model="m"}`]: '0+10x80',
      [`${FIRST_TOKEN}_bucket{namespace="ai",gen_ai_request_model="m",le="2"}`]: '0+9x80',
    },
  },
  {
    alert: 'MillraceQueueOld',
    at: '10m',
    fires: {
      series: { 'millrace_queue_oldest_seconds{namespace="ai",model="m"}': '121+0x15' },
      labels: { namespace: 'ai', model: 'm', severity: 'page' },
      summary: 'The oldest request of m has waited for 2m 1s',
    },
    silent: { 'millrace_queue_oldest_seconds{namespace="ai",model="m"}': '119+0x15' },
  },
  {
    alert: 'MillraceModelAtMax',
    at: '20m',
    fires: {
      series: {
        'millrace_scaler_need{namespace="ai",model="m",term="busy"}': '4.2+0x25',
        'millrace_scaler_need{namespace="ai",model="m",term="decode"}': '2+0x25',
        'millrace_scaler_target{namespace="ai",model="m",pool="m-base"}': '1+0x25',
        'millrace_scaler_target{namespace="ai",model="m",pool="m-spot"}': '3+0x25',
      },
      labels: { namespace: 'ai', model: 'm', severity: 'ticket' },
      summary: 'm needs 5 replicas and may not have them',
    },
    silent: {
      'millrace_scaler_need{namespace="ai",model="m",term="busy"}': '4.2+0x25',
      'millrace_scaler_target{namespace="ai",model="m",pool="m-base"}': '5+0x25',
    },
  },
  {
    alert: 'MillraceModelStarved',
    at: '15m',
    fires: {
      series: { 'millrace_scaler_pods{namespace="ai",model="m",pool="m",phase="unscheduled"}': '2+0x20' },
      labels: { namespace: 'ai', model: 'm', severity: 'page' },
      summary: '2 pods of m find no GPU',
    },
    silent: {
      'millrace_scaler_pods{namespace="ai",model="m",pool="m",phase="unscheduled"}': '2+0x9 0+0x20',
      'millrace_scaler_pods{namespace="ai",model="m",pool="m",phase="loading"}': '2+0x20',
    },
  },
  {
    alert: 'MillraceStartSlow',
    at: '10h',
    fires: {
      series: {
        [`${START},le="100"}`]: '0+1x480 480x140',
        [`${START},le="500"}`]: '0+1x600',
        [`${START},le="+Inf"}`]: '0+1x600',
      },
      labels: { namespace: 'ai', pool: 'm', severity: 'ticket' },
      summary: 'Workers of m start in 5m 0s, twice as long as on the days before',
    },
    silent: {
      [`${START},le="100"}`]: '0+1x600',
      [`${START},le="500"}`]: '0+1x600',
      [`${START},le="+Inf"}`]: '0+1x600',
    },
  },
  {
    alert: 'MillraceScalerStale',
    at: '5m',
    fires: {
      series: { 'millrace_scaler_snapshot_age_seconds{namespace="ai",pod="s-1"}': '30+0x10' },
      labels: { namespace: 'ai', pod: 's-1', severity: 'page' },
      summary: 'Numbers of replicas are frozen: the snapshot of the scaler s-1 is 30s old',
    },
    silent: { 'millrace_scaler_snapshot_age_seconds{namespace="ai",pod="s-1"}': '1 30 1+0x10' },
  },
  {
    alert: 'MillraceScalerNoLeader',
    at: '10m',
    fires: {
      series: { 'millrace_scaler_leader{namespace="ai",pod="s-1"}': '1+0x5 stale' },
      labels: { namespace: 'ai', severity: 'page' },
      summary: 'No scaler leads: numbers of replicas are frozen',
    },
    silent: {
      'millrace_scaler_leader{namespace="ai",pod="s-1"}': '1+0x5 stale',
      'millrace_scaler_leader{namespace="ai",pod="s-2"}': '0+0x5 1+0x10',
    },
  },
  {
    alert: 'MillraceKedaErrors',
    at: '15m',
    fires: {
      series: {
        'millrace_scaler_keda_calls_total{namespace="ai",call="GetMetrics",code="OK"}': '0+9x20',
        'millrace_scaler_keda_calls_total{namespace="ai",call="GetMetrics",code="UNAVAILABLE"}': '0+1x20',
      },
      labels: { namespace: 'ai', call: 'GetMetrics', severity: 'ticket' },
      summary: '10% of the calls GetMetrics of KEDA fail',
    },
    silent: {
      'millrace_scaler_keda_calls_total{namespace="ai",call="GetMetrics",code="OK"}': '0+9x20',
      'millrace_scaler_keda_calls_total{namespace="ai",call="GetMetrics",code="UNAVAILABLE"}': '0 1+0x20',
      'millrace_scaler_keda_calls_total{namespace="ai",call="StreamMetricSpec",code="UNIMPLEMENTED"}':
        '0+9x20',
    },
  },
  {
    alert: 'MillraceUnplannedRemovals',
    at: '10m',
    fires: {
      series: {
        'millrace_scaler_unplanned_removals_total{namespace="ai",pool="m"}': '0+0x5 1+0x10',
      },
      labels: { namespace: 'ai', pool: 'm', severity: 'ticket' },
      summary: 'A pod of m was removed that the scaler had not chosen',
    },
    silent: { 'millrace_scaler_unplanned_removals_total{namespace="ai",pool="m"}': '3+0x15' },
  },
]
