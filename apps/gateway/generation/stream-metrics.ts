import { Gauge, type Registry } from 'prom-client'

/** The open streams of this gateway; `http/request-metrics.ts` counts the requests. */
export function createStreamMetrics(options: { registry: Registry; openStreams: () => number }): void {
  new Gauge({
    name: 'millrace_gateway_open_streams',
    help: 'Generations that wait for events now',
    registers: [options.registry],
    collect() {
      this.set(options.openStreams())
    },
  })
}
