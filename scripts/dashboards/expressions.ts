const NAMESPACE = 'namespace="$namespace"'

/** Returns a PromQL selector of a metric in the chosen namespace, with further matchers. */
export function select(metric: string, ...matchers: readonly string[]): string {
  return `${metric}{${[NAMESPACE, ...matchers].join(', ')}}`
}

/** Returns the increase per second of a metric in the chosen namespace. */
export function rate(metric: string, ...matchers: readonly string[]): string {
  return `rate(${select(metric, ...matchers)}[$__rate_interval])`
}

/** Returns a quantile of a histogram, over all series that agree in the labels `by`. */
export function quantile(
  q: number,
  histogram: string,
  options: { by?: string; where?: string[] } = {},
): string {
  const { by, where = [] } = options
  const labels = by === undefined ? 'le' : `${by}, le`
  return `histogram_quantile(${q}, sum by (${labels}) (${rate(`${histogram}_bucket`, ...where)}))`
}

/** Returns the mean of a histogram's values. */
export function mean(histogram: string, ...matchers: readonly string[]): string {
  return `sum(${rate(`${histogram}_sum`, ...matchers)}) / sum(${rate(`${histogram}_count`, ...matchers)})`
}

/** Returns a sum by labels. */
export const sumBy = (labels: string, expr: string) => `sum by (${labels}) (${expr})`
