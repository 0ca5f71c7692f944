import { expect, test } from 'vitest'
import { generationJob } from '../../../../support/generation-job.ts'
import { claimedGeneration, runningUnderTest } from './running-under-test.ts'

const GATEWAY = 'gateway-1'

test('an ended choice is remembered until its deadline, because its gateway settles it with the others', () => {
  const { running, state, settled } = runningUnderTest()
  const { hold } = generationJob()
  const job = generationJob({ id: 'g1', gateway: GATEWAY, stream: 5, hold: { ...hold, otherTokens: 100 } })
  const forgotten = { ...job, id: 'g2', stream: 6 }
  const claims = [{ remainingMs: 600_000 }, { remainingMs: 400_000 }]
  for (const [index, each] of [job, forgotten].entries())
    running.open(claimedGeneration(each, claims[index]), () => {}).close()
  state.nowMs += 500_000
  running.pulse()
  running.buryGateway(GATEWAY)
  expect(settled).toEqual([['g1', 1]])
})
