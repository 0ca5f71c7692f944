import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { CHART, VALUE_SETS } from './chart-values.ts'
import { renderSet } from './helm.ts'
import { environmentOf, toWorkloads, type Container, type Workload } from './workloads.ts'

// A pod is killed when its grace period ends, even if it still has work. So each grace period must be at least the sum
// of the limits in the app's main.ts.

/** Time for two releases without a limit of their own that may reach the default limit: both need Redis. */
const OTHER_RELEASES_MS = 2 * 5_000
/** The time that an engine needs to stop after its worker has stopped. */
const ENGINE_MS = 15_000

const Sleep = z.looseObject({ preStop: z.object({ sleep: z.object({ seconds: z.int() }) }) })

describe.each(VALUE_SETS)('the value set %s', (set) => {
  const load = async (component: string): Promise<readonly Workload[]> => {
    const found = toWorkloads(await renderSet(set)).filter(
      ({ labels }) => labels['app.kubernetes.io/component'] === component,
    )
    expect(found.length).toBeGreaterThan(0)
    return found
  }

  test('workers have the time of their drain, their settlements and their engine', async () => {
    for (const { name, pod } of await load('worker')) {
      const limits = readLimits('worker', only(pod.containers))
      const needed = limits.total + OTHER_RELEASES_MS + ENGINE_MS
      expect([name, limits.names]).toEqual([name, expect.arrayContaining(['engines', 'settlements'])])
      expect([name, pod.terminationGracePeriodSeconds * 1_000 >= needed]).toEqual([name, true])
    }
  })

  test('gateways have the time of their preStop, their drain and their settlements', async () => {
    for (const { name, pod } of await load('gateway')) {
      const container = only(pod.containers)
      const { preStop } = Sleep.parse(container['lifecycle'])
      const limits = readLimits('gateway', container)
      const needed = preStop.sleep.seconds * 1_000 + limits.total + OTHER_RELEASES_MS
      expect([name, limits.names]).toEqual([name, expect.arrayContaining(['http', 'settlements'])])
      expect([name, pod.terminationGracePeriodSeconds * 1_000 >= needed]).toEqual([name, true])
    }
  })

  test('a gateway drains for as long as a generation may take', async () => {
    for (const { pod } of await load('gateway')) {
      const { DRAIN_GRACE_MS, GENERATION_DEADLINE_MS } = environmentOf(only(pod.containers))
      expect(DRAIN_GRACE_MS).toBe(GENERATION_DEADLINE_MS)
    }
  })

  test('billing, the scaler and the console have the time of their own limits', async () => {
    const components = toWorkloads(await renderSet(set)).map(
      ({ labels }) => labels['app.kubernetes.io/component'] ?? '',
    )
    for (const app of ['billing', 'scaler', 'console'].filter((one) => components.includes(one))) {
      for (const { name, pod } of await load(app)) {
        const container = only(pod.containers)
        const waits = Sleep.safeParse(container['lifecycle']).data?.preStop.sleep.seconds ?? 0
        const needed = waits * 1_000 + readLimits(app, container).total + OTHER_RELEASES_MS
        expect([name, pod.terminationGracePeriodSeconds * 1_000 >= needed]).toEqual([name, true])
      }
    }
  })
})

test('a spot pool drains within its notice, and any other for as long as its model says', async () => {
  const drains = [...toWorkloads(await renderSet('many-models')), ...toWorkloads(await renderSet('cluster'))]
    .filter(({ labels }) => labels['app.kubernetes.io/component'] === 'worker')
    .map(({ name, pod }) => [
      name,
      environmentOf(only(pod.containers))['DRAIN_GRACE_MS'],
      pod.terminationGracePeriodSeconds,
    ])
  expect(drains).toContainEqual(['Deployment/mr-qwen3-235b-spot', '75000', 120])
  expect(drains).toContainEqual(['Deployment/mr-qwen3-235b-base', '600000', 645])
  expect(drains).toContainEqual(['Deployment/mr-gpt-oss-120b', '60000', 105])
})

function only([container]: readonly Container[]): Container {
  if (container === undefined) throw new Error('there is no container')
  return container
}

/**
 * Returns the releases in an app's main.ts that have a limit of their own, and the sum of these limits in this
 * container.
 */
function readLimits(app: string, container: Container): { names: string[]; total: number } {
  const text = readFileSync(join(CHART, '../../../apps', app, 'main.ts'), 'utf8')
  const constants = new Map(
    Array.from(
      text.matchAll(/\b([A-Z_]+_MS|[a-z]\w*Ms)\b(?: =|:) ([\d_]+)\b/g),
      ([, name = '', value = '']) => [name, Number(value.replaceAll('_', ''))],
    ),
  )
  for (const [name, value] of Object.entries(environmentOf(container))) constants.set(name, Number(value))
  const limits = releasesOf(text).flatMap((call) => {
    const name = /'([^']+)'/.exec(call)?.[1] ?? ''
    const limit = /limitMs: ([^,}\n]+)/.exec(call)?.[1]
    return limit === undefined ? [] : [{ name, limitMs: evaluate(limit, constants) }]
  })
  return {
    names: limits.map(({ name }) => name),
    total: limits.reduce((sum, { limitMs }) => sum + limitMs, 0),
  }
}

/** Returns the text of each call of `releasers.add`, up to its closing parenthesis. */
function releasesOf(text: string): string[] {
  const calls = text.split('releasers.add(').slice(1)
  expect(calls.length).toBeGreaterThan(2)
  return calls.map((rest) => {
    let depth = 1
    let end = 0
    for (; depth > 0 && end < rest.length; end++) {
      if (rest[end] === '(') depth += 1
      if (rest[end] === ')') depth -= 1
    }
    return rest.slice(0, end)
  })
}

/** Returns the value of a sum of numbers and constants, such as `config.DRAIN_GRACE_MS + 10_000`. */
function evaluate(expression: string, constants: ReadonlyMap<string, number>): number {
  return expression.split('+').reduce((sum, term) => {
    const name = term.trim().split('.').at(-1) ?? ''
    const value = /^[\d_]+$/.test(name) ? Number(name.replaceAll('_', '')) : constants.get(name)
    if (value === undefined) throw new Error(`the value of ${name} in ${expression} is not known`)
    return sum + value
  }, 0)
}
