import { expect, it } from 'vitest'
import { readModelFolder } from '#libs/model-files/model-files.ts'

it('a folder gives the files that describe a model, and no others', async () => {
  const names = ['config.json', 'generation_config.json', 'tokenizer.json', 'tokenizer_config.json']
  expect([...(await readModelFolder('models/tiny')).keys()]).toEqual(names)
  await expect(readModelFolder('models')).rejects.toThrow('there is no models/tokenizer.json')
})
