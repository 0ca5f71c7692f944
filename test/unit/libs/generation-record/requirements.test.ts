import { expect, test } from 'vitest'
import { encodeRequirements } from '#libs/generation-record/requirements.ts'

test('equal needs have equal text, whatever the order in which they are named', () => {
  expect(encodeRequirements({ features: ['continue', 'chat', 'chat'], window: 0 })).toBe('chat continue')
  expect(encodeRequirements({ features: ['chat'], window: 65_536 })).toBe('chat window:65536')
})

test('windows are rounded up by an eighth at most, into a few classes', () => {
  const classOf = (window: number) => Number(encodeRequirements({ features: [], window }).split(':')[1])
  const classes = new Set<number>()
  for (let window = 1; window <= 262_144; window += 37) {
    const rounded = classOf(window)
    expect(rounded).toBeGreaterThanOrEqual(window)
    expect(rounded).toBeLessThanOrEqual(window * 1.125)
    classes.add(rounded)
  }
  expect(classes.size).toBeLessThan(8 * 18)
})

test.for([1, 2_048, 4_096, 32_768, 40_960, 131_072, 262_144])(
  'a generation that fills an engine’s window of %d tokens still fits it',
  (window) => {
    expect(encodeRequirements({ features: [], window })).toBe(`window:${window}`)
  },
)
