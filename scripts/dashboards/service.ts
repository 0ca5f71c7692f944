import type { Dashboard } from './dashboard.ts'
import { quantile, rate, select, sumBy } from './expressions.ts'

const FIRST_TOKEN = 'gen_ai_server_time_to_first_token_seconds'
const OUTPUT_TOKEN = 'gen_ai_server_time_per_output_token_seconds'
const MODEL = 'gen_ai_request_model'

const bad = select('millrace:slo_bad:rate5m', 'slo="availability"')
const all = select('millrace:slo_all:rate5m', 'slo="availability"')

/** The dashboard for the person on call. It shows whether the service works, and if not, which part fails. */
export const SERVICE: Dashboard = {
  name: 'service',
  title: 'Service',
  panels: [
    {
      title: 'Availability over 28 days',
      help: 'Requests without a 5xx and without a stream that was cut. The objective is 99.9 %.',
      unit: 'percentunit',
      kind: 'number',
      shows: { availability: `1 - sum(sum_over_time(${bad}[28d])) / sum(sum_over_time(${all}[28d]))` },
    },
    {
      title: 'Burn of the error budgets, one hour',
      help: 'At 1 a budget lasts exactly 28 days; at 14.4 an alert pages.',
      unit: 'short',
      shows: { '{{slo}}': `max by (slo) (${select('millrace:slo_burn:rate1h')})` },
    },
    {
      title: 'Requests by result',
      help: 'Of all routes; client_gone are clients that closed the connection.',
      unit: 'reqps',
      shows: { '{{code}}': sumBy('code', rate('millrace_http_requests_total')) },
    },
    {
      title: 'Time to the first token',
      help: 'Over all models, waiting for a worker included.',
      unit: 's',
      shows: {
        p50: quantile(0.5, FIRST_TOKEN),
        p95: quantile(0.95, FIRST_TOKEN),
        p99: quantile(0.99, FIRST_TOKEN),
      },
    },
    {
      title: 'Time per output token',
      help: 'Over all models, after the first token. The objective is 80 ms for 95 %.',
      unit: 's',
      shows: { p50: quantile(0.5, OUTPUT_TOKEN), p95: quantile(0.95, OUTPUT_TOKEN) },
    },
    {
      title: 'Slowest models, 95th percentile of the first token',
      help: 'The ten models whose first tokens come latest.',
      unit: 's',
      shows: { [`{{${MODEL}}}`]: `topk(10, ${quantile(0.95, FIRST_TOKEN, { by: MODEL })})` },
    },
    {
      title: 'Admissions by outcome',
      help: 'busy: the queue is too long. warming: no worker is ready yet. unavailable: none is expected.',
      unit: 'reqps',
      shows: { '{{outcome}}': sumBy('outcome', rate('millrace_gateway_admissions_total')) },
    },
    {
      title: 'Open streams by gateway',
      help: 'Generations whose events a gateway waits for.',
      unit: 'short',
      shows: { '{{pod}}': select('millrace_gateway_open_streams') },
    },
    {
      title: 'Streams cut, and generations moved',
      help: 'A cut stream ends with an error. A moved one goes on with another worker; its client sees a pause.',
      unit: 'ops',
      shows: {
        'cut: {{reason}}': sumBy('reason', rate('millrace_gateway_streams_cut_total')),
        'moved: {{reason}}': sumBy('reason', rate('millrace_gateway_recoveries_total')),
      },
    },
    {
      title: 'Redis reached by all gateways',
      help: '1 while every gateway reaches the Redis of the role.',
      unit: 'bool',
      shows: { '{{role}}': `min by (role) (${select('millrace_redis_up')})` },
    },
    {
      title: 'Answers of Redis and PostgreSQL, 99th percentile',
      help: 'Redis: a PING each second. PostgreSQL: transactions of billing.',
      unit: 's',
      shows: {
        'redis {{role}}': quantile(0.99, 'millrace_redis_command_seconds', { by: 'role' }),
        database: quantile(0.99, 'millrace_billing_database_seconds'),
      },
    },
    {
      title: 'Event loops, 99th percentile of the delay',
      help: 'Above 50 ms a process needs more processor, or more replicas.',
      unit: 's',
      shows: {
        '{{app}}': `max by (app) (${select('nodejs_eventloop_lag_p99_seconds')} * on (namespace, instance) group_left (app) millrace_build_info)`,
      },
    },
    {
      title: 'Processes by version',
      help: 'Two versions of an app beside each other are a rollout.',
      unit: 'short',
      shows: { '{{app}} {{version}}': `count by (app, version) (${select('millrace_build_info')})` },
    },
  ],
}
