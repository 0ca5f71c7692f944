import { Gauge, type Registry } from 'prom-client'

/** Metrics of the core; `http/request-metrics.ts` counts the requests. */
export function createGatewayMetrics(options: { registry: Registry; openStreams: () => number }): void {
  new Gauge({
    name: 'millrace_gateway_open_streams',
    help: 'Generations that wait for events now',
    registers: [options.registry],
    collect() {
      this.set(options.openStreams())
    },
  })
}
