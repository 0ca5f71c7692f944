import { readFile } from 'node:fs/promises'
import { expect, it } from 'vitest'
import { createTokenizerCache } from '#apps/worker/prompt/tokenizer-cache.ts'
import { createTokenizer } from '#libs/tokenizer/tokenizer.ts'

const tiny = await readFile('models/tiny/tokenizer.json', 'utf8')
const other = await readFile('test/fixtures/tokenizers/wordpiece/tokenizer.json', 'utf8')

function open() {
  const created: string[] = []
  const get = createTokenizerCache(async (json) => {
    created.push(json)
    return await createTokenizer(json)
  })
  return { get, created }
}

it('creates one tokenizer for equal files, however often it is asked', async () => {
  const { get, created } = open()
  const [first, second] = await Promise.all([get(tiny), get(tiny)])
  expect(second).toBe(first)
  expect(await get(tiny)).toBe(first)
  expect(created).toHaveLength(1)
})

it('creates another one for a file that differs', async () => {
  const { get } = open()
  expect((await get(other)).vocabularySize).not.toEqual((await get(tiny)).vocabularySize)
})

it('tries again after a failure', async () => {
  const { get, created } = open()
  await expect(get('{}')).rejects.toThrow(/tokenizer\.json cannot be used/)
  await expect(get('{}')).rejects.toThrow(/tokenizer\.json cannot be used/)
  expect(created).toHaveLength(2)
})
