import { readFile } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import { ChatReference, checkChats } from '#libs/model-files/check-chats.ts'
import { readModelFolder } from '#libs/model-files/model-files.ts'
import { createModel } from '#libs/model-files/model.ts'

const FOLDERS = [
  'models/tiny',
  'test/fixtures/tokenizers/byte-level-bpe',
  'test/fixtures/tokenizers/byte-fallback-bpe',
]

const readReference = async (folder: string) =>
  ChatReference.parse(JSON.parse(await readFile(`${folder}/chat-reference.json`, 'utf8')))

describe.for(FOLDERS)('%s', (folder) => {
  it('has for every conversation the ids that transformers gives it', async () => {
    const reference = await readReference(folder)
    expect(reference.cases.length).toBeGreaterThan(11)
    expect(await checkChats(await createModel(await readModelFolder(folder)), reference)).toEqual([])
  })
})

describe('a difference', async () => {
  const tiny = await createModel(await readModelFolder('models/tiny'))
  const reference = await readReference('models/tiny')
  const [first] = reference.cases
  if (first === undefined) throw new Error('there is no case')
  const check = async (changed: Partial<typeof first>, model = tiny) =>
    (await checkChats(model, { ...reference, cases: [{ ...first, ...changed }] })).map(
      ({ problem }) => problem,
    )

  it('of the prompt is shown with its context', async () => {
    expect(await check({ messages: [{ role: 'user', content: 'Hellu' }] })).toEqual([
      'the prompt differs at character 21: transformers has "|im_start|>user\\nHello<|im_end|>\\n<|im_start|>assistant\\n", ' +
        'here it is "|im_start|>user\\nHellu<|im_end|>\\n<|im_start|>assistant\\n"',
    ])
  })

  it('of the ids alone is shown with their texts', async () => {
    const ids = [...(first.ids ?? [])]
    expect(await check({ ids: ids.with(1, 39) })).toEqual([
      'the prompts are equal, their ids differ at token 1: transformers has 39 198 39 548 335 ("H\\nHello"), ' +
        'here it is 1141 198 39 548 335 ("user\\nHello")',
    ])
    expect(await check({ ids: [...ids, 39] })).toEqual([
      expect.stringMatching(/token 11: .* 39 \("H"\), .* none \(""\)$/),
    ])
    expect(await check({ ids: ids.slice(0, -1) })).toHaveLength(1)
  })

  it('of refusals is reported as well', async () => {
    const source = "{{ raise_exception('no') }}"
    const refusing = { ...tiny, template: { ...tiny.template, source } }
    expect(await check({}, refusing)).toEqual([expect.stringMatching(/^only here: no$/)])
    const refused = { prompt: undefined, ids: undefined, refused: 'TemplateError: no' }
    expect(await check(refused)).toEqual(['only transformers refuses it: TemplateError: no'])
    expect(await check(refused, refusing)).toEqual([])
  })
})
