import type { Dashboard } from './dashboard.ts'
import { rate, select, sumBy } from './expressions.ts'

/** The dashboard for finance. It shows earned and held amounts, and whether the books agree. */
export const MONEY: Dashboard = {
  name: 'money',
  title: 'Money',
  panels: [
    {
      title: 'Billed tokens per hour by model',
      help: 'Input and output.',
      unit: 'short',
      shows: {
        '{{gen_ai_request_model}} {{gen_ai_token_type}}': sumBy(
          'gen_ai_request_model, gen_ai_token_type',
          `increase(${select('gen_ai_client_token_usage_sum')}[1h])`,
        ),
      },
    },
    {
      title: 'Credits per hour by model',
      help: 'Charged for generations. It is measured; `millrace usage` shows the exact numbers.',
      unit: 'short',
      shows: {
        '{{model}}': sumBy('model', `increase(${select('millrace_billing_charged_credits_total')}[1h])`),
      },
    },
    {
      title: 'Settlements by result',
      help: 'Generations whose cost was charged or whose hold was returned.',
      unit: 'ops',
      shows: { '{{result}}': sumBy('result', rate('millrace_billing_settlements_total')) },
    },
    {
      title: 'Open holds',
      help: 'Money set aside for generations that run.',
      unit: 'short',
      shows: { open: `max(${select('millrace_billing_open_holds')})` },
    },
    {
      title: 'Age of the oldest hold',
      help: 'Above the deadline of a generation and 5 minutes an alert pages.',
      unit: 's',
      shows: { oldest: `max(${select('millrace_billing_oldest_hold_seconds')})` },
    },
    {
      title: 'Credits written off per hour',
      help: 'Cost that could not be charged.',
      unit: 'short',
      shows: { credits: `sum(increase(${select('millrace_billing_written_off_credits_total')}[1h]))` },
    },
    {
      title: 'Holds that expired or were limited, per hour',
      help: 'expired: no settlement came. limited: the money available limited the output.',
      unit: 'short',
      shows: {
        expired: `sum(increase(${select('millrace_billing_expired_holds_total')}[1h]))`,
        limited: `sum(increase(${select('millrace_billing_clamped_holds_total')}[1h]))`,
      },
    },
    {
      title: 'Alarms per hour',
      help: 'Settlements that should not exist. Any alarm needs a person.',
      unit: 'short',
      shows: {
        '{{kind}}': sumBy('kind', `increase(${select('millrace_billing_settlement_alarms_total')}[1h])`),
      },
    },
    {
      title: 'Reconciliation: rows that disagree',
      help: 'Every question must show 0.',
      unit: 'short',
      shows: { '{{question}}': `max by (question) (${select('millrace_billing_reconciliation_rows')})` },
    },
    {
      title: 'Time since the reconciliation',
      help: 'Above half an hour an alert is raised.',
      unit: 's',
      shows: {
        since: `time() - max(${select('millrace_billing_reconciled_timestamp_seconds')} > 0)`,
      },
    },
    {
      title: 'Age of the watermarks',
      help: 'How far billing is behind the settlements of a model.',
      unit: 's',
      shows: { '{{model}}': `max by (model) (${select('millrace_billing_watermark_age_seconds')})` },
    },
    {
      title: 'Settlements not taken by Redis',
      help: 'In the memory of gateways and workers. It must return to 0.',
      unit: 'short',
      shows: {
        gateways: `sum(${select('millrace_gateway_held_settlements', 'state="unanswered"')})`,
        workers: `sum(${select('millrace_worker_pending_settlements')})`,
      },
    },
    {
      title: 'Money calls by answer',
      help: 'overloaded and unavailable make gateways answer 503.',
      unit: 'ops',
      shows: { '{{kind}} {{answer}}': sumBy('kind, answer', rate('millrace_billing_money_calls_total')) },
    },
    {
      title: 'Holds that grew while their answers ran',
      help: 'Answers on small balances. short: other holds of the account keep the credits.',
      unit: 'ops',
      shows: { '{{answer}}': sumBy('answer', rate('millrace_gateway_hold_growths_total')) },
    },
    {
      title: 'Answers that ended for want of credits, per hour',
      help: 'They end as length.',
      unit: 'short',
      shows: { answers: `sum(increase(${select('millrace_worker_money_ends_total')}[1h]))` },
    },
  ],
}
