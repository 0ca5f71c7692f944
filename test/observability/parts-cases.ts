import type { AlertCase } from './alert-cases.ts'

const WORKER = 'namespace="ai",instance="10.0.0.7:9100"'
const RECOVERIES = 'millrace_gateway_recoveries_total{namespace="ai",reason="worker-dead"}'

/** Workers, billing, and what Millrace stands on. */
export const PARTS_CASES: readonly AlertCase[] = [
  {
    alert: 'MillraceEngineRestartLoop',
    at: '15m',
    fires: {
      series: {
        'millrace_worker_engine_restarts_total{namespace="ai",pod="w-1",model="m",reason="dead"}':
          '0+0x3 1+0x3 2+0x3 3+0x10',
      },
      labels: { namespace: 'ai', pod: 'w-1', model: 'm', severity: 'page' },
      summary: 'The engine of w-1 (m) was restarted 3 times within 15 minutes',
    },
    silent: {
      'millrace_worker_engine_restarts_total{namespace="ai",pod="w-1",model="m",reason="dead"}':
        '0+0x3 1+0x20',
    },
  },
  {
    alert: 'MillraceWorkersKilledInDrain',
    at: '6m',
    fires: {
      series: {
        [`millrace_worker_draining{${WORKER}}`]: '0+0x2 1 1 stale',
        [`millrace_worker_running{${WORKER},model="m"}`]: '4+0x4 stale',
        [RECOVERIES]: '0+0x4 4+0x10',
      },
      labels: { namespace: 'ai', severity: 'ticket' },
      summary: '1 workers were killed before their drain was over',
    },
    silent: {
      [`millrace_worker_draining{${WORKER}}`]: '0+0x2 1 1 stale',
      [`millrace_worker_running{${WORKER},model="m"}`]: '4+0x4 stale',
      [RECOVERIES]: '0+0x14',
    },
  },
  {
    alert: 'MillracePendingSettlements',
    at: '10m',
    fires: {
      series: { 'millrace_gateway_held_settlements{namespace="ai",state="unanswered"}': '0 3+0x15' },
      labels: { namespace: 'ai', severity: 'page' },
      summary: 'The queue Redis has not taken 3 settlements',
    },
    silent: {
      'millrace_gateway_held_settlements{namespace="ai",state="kept"}': '30+0x15',
      'millrace_worker_pending_settlements{namespace="ai"}': '0 3 3 0+0x15',
    },
  },
  {
    alert: 'MillraceWatermarkOld',
    at: '5m',
    fires: {
      series: { 'millrace_billing_watermark_age_seconds{namespace="ai",model="m"}': '31+0x10' },
      labels: { namespace: 'ai', model: 'm', severity: 'page' },
      summary: 'Settlements of m have not been read for 31s',
    },
    silent: { 'millrace_billing_watermark_age_seconds{namespace="ai",model="m"}': '29+0x10' },
  },
  {
    alert: 'MillraceBooksDisagree',
    at: '5m',
    fires: {
      series: { 'millrace_billing_reconciliation_rows{namespace="ai",question="posted"}': '0 2+0x10' },
      labels: { namespace: 'ai', question: 'posted', severity: 'page' },
      summary: 'The reconciliation found 2 rows for posted',
    },
    silent: { 'millrace_billing_reconciliation_rows{namespace="ai",question="posted"}': '0+0x10' },
  },
  {
    alert: 'MillraceBooksUnchecked',
    at: '40m',
    fires: {
      series: { 'millrace_billing_reconciled_timestamp_seconds{namespace="ai"}': '60+0x60' },
      labels: { namespace: 'ai', severity: 'ticket' },
      summary: 'The newest reconciliation was made 39m 0s ago',
    },
    // 0: this replica does not know when it was.
    silent: {
      'millrace_billing_reconciled_timestamp_seconds{namespace="ai",pod="b-1"}': '0+60x60',
      'millrace_billing_reconciled_timestamp_seconds{namespace="ai",pod="b-2"}': '0+0x60',
    },
  },
  {
    alert: 'MillraceSettlementAlarm',
    at: '10m',
    fires: {
      series: {
        'millrace_billing_settlement_alarms_total{namespace="ai",kind="different"}': '0+0x5 1+0x10',
      },
      labels: { namespace: 'ai', kind: 'different', severity: 'page' },
      summary: 'Settlements raised the alarm different',
    },
    silent: { 'millrace_billing_settlement_alarms_total{namespace="ai",kind="different"}': '1+0x15' },
  },
  {
    alert: 'MillraceHoldsOld',
    at: '5m',
    fires: {
      series: { 'millrace_billing_oldest_hold_seconds{namespace="ai"}': '960+0x10' },
      labels: { namespace: 'ai', severity: 'page' },
      summary: 'The oldest hold is 16m 0s old: its generation must have ended',
    },
    silent: { 'millrace_billing_oldest_hold_seconds{namespace="ai"}': '890+0x10' },
  },
  {
    alert: 'MillraceRedisMemory',
    at: '10m',
    fires: {
      series: {
        'redis_memory_used_bytes{namespace="ai",instance="redis:9121"}': '80+0x15',
        'redis_memory_max_bytes{namespace="ai",instance="redis:9121"}': '100+0x15',
      },
      labels: { namespace: 'ai', instance: 'redis:9121', severity: 'page' },
      summary: 'Redis redis:9121 uses 80% of its memory',
    },
    silent: {
      'redis_memory_used_bytes{namespace="ai",instance="redis:9121"}': '80+0x15',
      'redis_memory_max_bytes{namespace="ai",instance="redis:9121"}': '0+0x15',
    },
  },
  {
    alert: 'MillraceRedisDown',
    at: '5m',
    fires: {
      series: {
        'millrace_redis_up{namespace="ai",role="bus",pod="g-1"}': '1 0+0x10',
        'millrace_redis_up{namespace="ai",role="bus",pod="g-2"}': '1+0x10',
      },
      labels: { namespace: 'ai', role: 'bus', severity: 'page' },
      summary: 'At least one gateway does not reach the bus Redis',
    },
    silent: { 'millrace_redis_up{namespace="ai",role="bus",pod="g-1"}': '1 1 1 0 1+0x10' },
  },
  {
    alert: 'MillraceEventLoopLag',
    at: '10m',
    fires: {
      series: {
        [`nodejs_eventloop_lag_p99_seconds{${WORKER}}`]: '0.08+0x15',
        [`millrace_build_info{${WORKER},app="gateway",version="1"}`]: '1+0x15',
      },
      labels: { namespace: 'ai', instance: '10.0.0.7:9100', app: 'gateway', severity: 'ticket' },
      summary: 'The event loop of gateway 10.0.0.7:9100 is late by 80ms',
    },
    // Of another program.
    silent: { [`nodejs_eventloop_lag_p99_seconds{${WORKER}}`]: '0.08+0x15' },
  },
  {
    alert: 'MillraceCertificateExpiry',
    at: '2h',
    fires: {
      series: {
        'certmanager_certificate_expiration_timestamp_seconds{namespace="ai",name="millrace-billing"}':
          '93600+0x130',
      },
      labels: { namespace: 'ai', name: 'millrace-billing', severity: 'ticket' },
      summary: 'The certificate millrace-billing expires in 1d 0h 0m 0s',
    },
    silent: {
      'certmanager_certificate_expiration_timestamp_seconds{namespace="ai",name="millrace-billing"}':
        '864000+0x130',
    },
  },
]
