import { Counter, Gauge, Histogram, type MetricValue, type Registry } from '@prometheus-io/client'

type Named<Label extends string> = {
  readonly name: string
  readonly help: string
  readonly labelNames?: readonly Label[]
}

type Scraped<Label extends string> = Named<Label> & {
  /**
   * Returns the values at each scrape; they replace the values of the previous scrape. Without `read` the caller sets
   * the values.
   */
  readonly read?: () => Values<Label> | Promise<Values<Label>>
}

/** One value without labels, or several series. Values of series with equal labels are added. */
type Values<Label extends string> = number | readonly Series<Label>[]

/** The labels of a series and its value. A series with the value null, which means unknown, is left out. */
type Series<Label extends string> = readonly [
  labels: Readonly<Record<NoInfer<Label>, string>> & MetricValue<Label>['labels'],
  value: number | null,
]

/** Returns functions that declare a metric each in this registry. */
export function declareMetrics(registry: Registry) {
  const registers = [registry]
  return {
    counter: <Label extends string = never>({ read, ...named }: Scraped<Label>) =>
      new Counter<Label>({ ...named, registers, ...toCollect(read) }),
    gauge: <Label extends string = never>({ read, ...named }: Scraped<Label>) =>
      new Gauge<Label>({ ...named, registers, ...toCollect(read) }),
    histogram: <Label extends string = never>(
      metric: Named<Label> & { readonly buckets: readonly number[] },
    ) => new Histogram<Label>({ ...metric, buckets: [...metric.buckets], registers }),
  }
}

/** Creates the `collect` of a metric, which is called at each scrape with the metric as `this`. */
function toCollect<Label extends string>(read: Scraped<Label>['read']) {
  if (read === undefined) return {}
  return {
    async collect(this: Counter<Label> | Gauge<Label>) {
      const values = await read()
      this.reset()
      if (typeof values === 'number') this.inc(values)
      else for (const [labels, value] of values) if (value !== null) this.inc(labels, value)
    },
  }
}
