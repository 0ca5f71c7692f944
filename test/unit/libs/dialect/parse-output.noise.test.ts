import { readdirSync } from 'node:fs'
import { expect, it } from 'vitest'
import { createRandom } from '#test/chaos/random.ts'
import { runs } from '#test/support/long.ts'
import { clock, search } from './any-calls.ts'
import { writeNoisily } from './noisy-output.ts'
import { parse, readFamily, tokenizer } from './parse-tokens.ts'

const FAMILIES = readdirSync('models/families').map((file) => file.replace('.json', ''))

it('there are families', () => {
  expect(FAMILIES.length).toBeGreaterThan(20)
})

it.for(FAMILIES)(
  '%s: what a model writes with its usual mistakes is read whole, and no markup is left',
  async (name) => {
    const family = readFamily(name)
    const random = createRandom(35, name)
    for (let round = 0; round < runs(150, 5_000); round += 1) {
      const { text, startsInReasoning, reasoning, answer, calls } = writeNoisily(family, random)
      const ids = Array.from(await tokenizer.encode(text))
      const chunks = round % 2 === 0 ? [ids] : ids.map((id) => [id])
      const { events } = parse(chunks, { family, tools: [search, clock], startsInReasoning })
      const read = { reasoning: '', answer: '', calls: new Array<{ name: string; json: string }>() }
      for (const event of events) {
        if (event.type === 'text-delta') read.answer += event.text.replaceAll(/\s/g, '')
        if (event.type === 'reasoning-delta') read.reasoning += event.text.replaceAll(/\s/g, '')
        if (event.type === 'tool-call-start') read.calls.push({ name: event.name, json: '' })
        const last = read.calls.at(-1)
        if (event.type === 'tool-call-delta' && last !== undefined) last.json += event.text
      }
      const found = read.calls.map(({ name: called, json }) => ({ name: called, args: JSON.parse(json) }))
      expect({ text, ...read, calls: found }).toEqual({ text, reasoning, answer, calls })
    }
  },
)
