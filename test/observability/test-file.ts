import type { AlertCase, Series } from './alert-cases.ts'
import type { Alert } from './read-rules.ts'

/** Returns a file for `promtool test rules` with two tests: that this alert fires, and that it stays silent. */
export function toTestFile(
  alertCase: AlertCase,
  { alert, rulePaths }: { alert: Alert; rulePaths: string[] },
): object {
  const { at, fires, silent, labels, summary } = alertCase
  const firing = {
    exp_labels: { namespace: 'ai', ...alert.labels, ...labels },
    exp_annotations: { summary, runbook_url: alert.annotations.runbook_url },
  }
  return {
    rule_files: rulePaths,
    evaluation_interval: '1m',
    tests: [
      { series: fires, name: `${alert.alert} fires`, expected: [firing] },
      { series: silent, name: `${alert.alert} stays silent`, expected: [] },
    ].map(({ series, name, expected }) => ({
      name,
      interval: '1m',
      input_series: toInput(series),
      alert_rule_test: [{ eval_time: at, alertname: alert.alert, exp_alerts: expected }],
    })),
  }
}

const toInput = (series: Series) => Object.entries(series).map(([name, values]) => ({ series: name, values }))
