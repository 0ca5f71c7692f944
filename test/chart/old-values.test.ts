import { expect, test } from 'vitest'
import { readDefaults, readValues, valuesPath, type Values } from './chart-values.ts'
import { HELMS, renderValues } from './helm.ts'

// `helm upgrade --reuse-values` renders a chart with the values of the release before, without the chart's own
// defaults. `null` takes a default away in the same way.

/** What an earlier chart did not have. */
const NEW: readonly Values[] = [
  { services: null, podSecurity: null, pods: null, cell: null, listenAddress: null },
  { networkPolicy: { ports: { dns: null }, dnsTo: null } },
  { catalog: { resources: null }, tests: { resources: null } },
]

test.each(HELMS.flatMap((helm) => NEW.map((missing) => ({ helm, missing }))))(
  '$helm refuses values of an earlier chart, without $missing, and names the option that works',
  async ({ helm, missing }) => {
    const values = { ...readValues(valuesPath('minimal')), ...missing }
    await expect(renderValues(values, { helm })).rejects.toThrow(/--reset-then-reuse-values/)
  },
)

test('a value that is null on purpose is no value of an earlier chart', async () => {
  const values = { ...readValues(valuesPath('minimal')), gateway: { resources: { limits: null } } }
  await expect(renderValues(values)).resolves.not.toEqual([])
  expect(readDefaults()).toHaveProperty('gateway.resources.limits')
})
