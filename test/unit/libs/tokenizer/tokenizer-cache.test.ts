import { expect, it } from 'vitest'
import { createTokenizerCache } from '#libs/tokenizer/tokenizer-cache.ts'
import { createTokenizer } from '#libs/tokenizer/tokenizer.ts'
import { readTokenizerFolder, type TokenizerFiles } from '#libs/model-files/tokenizer-files.ts'

const tiny = await readTokenizerFolder('models/tiny')

function open() {
  const created: TokenizerFiles[] = []
  const closed: string[] = []
  const cache = createTokenizerCache(async (files) => {
    created.push(files)
    const tokenizer = await createTokenizer(files)
    return { ...tokenizer, close: async () => void closed.push(tokenizer.encoder) }
  })
  return { cache, created, closed }
}

it('makes one tokenizer of equal files, whoever asks and however often, and closes it once', async () => {
  const { cache, created, closed } = open()
  const copy = new Map([...tiny].map(([name, data]) => [name, Buffer.from(data)]))
  const [first, second] = await Promise.all([cache.get(tiny), cache.get(copy)])
  expect(second).toBe(first)
  expect(created).toHaveLength(1)
  await cache.close()
  expect(closed).toEqual(['native'])
})

it('makes another one where any file differs', async () => {
  const { cache } = open()
  const other = new Map([...tiny, ['generation_config.json', Buffer.from('{}')]])
  expect((await cache.get(other)).eosIds).not.toEqual((await cache.get(tiny)).eosIds)
})

it('tries again where it failed', async () => {
  const { cache, created } = open()
  const broken = new Map([['tokenizer.json', Buffer.from('{}')]])
  await expect(cache.get(broken)).rejects.toThrow(/tokenizer\.json cannot be used/)
  await expect(cache.get(broken)).rejects.toThrow(/tokenizer\.json cannot be used/)
  expect(created).toHaveLength(2)
  await cache.close()
})
