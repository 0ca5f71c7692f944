import { expect, test } from 'vitest'
import { CHART, readValues, VALUE_SETS, valuesPath, type ValueSet } from './chart-values.ts'
import { HELMS, nameOf, onValues, RELEASE, renderSet, renderValues, runHelm } from './helm.ts'
import { toGolden } from './to-golden.ts'

/** The smallest and the fullest release. Other tests check the other sets: policies, environment, grace periods. */
const GOLDEN_SETS = ['minimal', 'production'] as const satisfies ValueSet[]
const CASES = HELMS.flatMap((helm) => VALUE_SETS.map((set) => ({ helm, set })))

test.each(CASES)('$helm lints the value set $set without a warning', async ({ helm, set }) => {
  const output = await runHelm(helm, ['lint', CHART, '--strict', '--values', valuesPath(set)])
  expect(output).toContain('1 chart(s) linted, 0 chart(s) failed')
  expect(output).not.toMatch(/\[(?:WARNING|ERROR)\]/)
})

test.each(CASES)(
  '$helm renders the value set $set, each object under a name of its own',
  async ({ helm, set }) => {
    const objects = await renderSet(set, helm)
    expect(objects.length).toBeGreaterThan(20)
    expect(new Set(objects.map(nameOf)).size).toBe(objects.length)
  },
)

test.each(VALUE_SETS)('both Helms render the same of the value set %s', async (set) => {
  const [first, ...others] = await Promise.all(
    HELMS.map(async (helm) => toGolden(await renderSet(set, helm))),
  )
  expect(others).toEqual([first])
})

test.each(GOLDEN_SETS)('the value set %s is rendered as its golden file', async (set) => {
  await expect(toGolden(await renderSet(set))).toMatchFileSnapshot(`golden/${set}.yaml`)
})

test('the notes name the address, the models and every unsafe switch', async () => {
  const notes = await onValues(readValues(valuesPath('dev')), async (path) => {
    const args = ['install', RELEASE, CHART, '--dry-run=client', '--values', path]
    return (await runHelm('helm', args)).split('NOTES:')[1] ?? ''
  })
  expect(notes).toContain('http://mr-gateway.default:8080/v1')
  expect(notes).toContain('demo-reasoning: 0 to 2 replicas as mr-demo-reasoning')
  expect(notes).toContain('port-forward service/mr-console 8091:8091')
  expect(notes).toContain('lose everything with their pods')
  expect(notes).toContain('engines are simulated')
  expect(notes).toContain('gateways and billing talk in plaintext')
})

test('without HPA tolerance in the cluster, the HPAs have none and the scaler plans for a tenth', async () => {
  const render = async (kubernetes: string) =>
    JSON.stringify(await renderValues(readValues(valuesPath('minimal')), { kubernetes }))
  const [older, newer] = [await render('1.34.2'), await render('1.35.0')]
  expect(older).not.toContain('"tolerance"')
  expect(older).toContain(String.raw`\"hpaTolerance\": 0.1`)
  expect(newer).toContain('"tolerance":"0"')
  expect(newer).toContain(String.raw`\"hpaTolerance\": 0,`)
})
