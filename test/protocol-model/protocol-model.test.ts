import { describe, expect, it } from 'vitest'
import { SOUND_CASES, WEAKENED_CASES } from './cases.ts'
import { explore } from './explore.ts'
import { createProtocol } from './protocol.ts'
import { SOUND } from './rules.ts'

describe('the rules of the record hold with', () => {
  it.each(SOUND_CASES)('$name', (sound) => {
    expect(sound.weaker).toEqual({})
    const found = explore(createProtocol(sound))
    expect(found).toMatchObject({ status: 'holds', goodEnds: expect.toSatisfy((count) => count > 0) })
  })
})

describe('a weaker rule has a trace:', () => {
  it.each(WEAKENED_CASES)('$name', (weakened) => {
    const found = explore(createProtocol(weakened))
    expect(found).toMatchObject({ status: 'violated', violation: weakened.breaks })
    const sound = explore(createProtocol({ ...weakened, weaker: {} }))
    expect(sound).toMatchObject({ status: 'holds' })
  })

  it('each rule is weakened alone in some case', () => {
    const weakened = WEAKENED_CASES.map(({ weaker }) => Object.keys(weaker))
    const missing = Object.keys(SOUND).filter(
      (rule) => !weakened.some((rules) => rules.length === 1 && rules[0] === rule),
    )
    // A worker that cannot continue a generation never gets one to continue, unless needs are ignored too.
    expect(missing).toEqual(['continuationCompared'])
  })
})
