import { sumMetric } from '../../test/support/cluster.ts'
import type { App } from '../../test/support/faulty-cluster/faulty-cluster.ts'

/** Returns how many tokens the engines of a simulator have generated since its start. */
export async function generated(simulator: App): Promise<number> {
  const text = await (await fetch(`${simulator.opsUrl()}/metrics`)).text()
  return sumMetric(text, 'millrace_simulator_tokens_total', {})
}
