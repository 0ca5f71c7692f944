import { describe, expect, it } from 'vitest'
import { readModelFolder } from '#libs/model-files/model-files.ts'
import { createModel } from '#libs/model-files/model.ts'

const files = await readModelFolder('models/tiny')
const tiny = await createModel(files)

/** Returns the tiny model with other content in some of its files. */
const variant = async (changed: Record<string, string>) =>
  await createModel(
    new Map([...files, ...Object.entries(changed).map(([name, text]) => [name, Buffer.from(text)] as const)]),
  )

describe('a model', () => {
  it('has the end ids of all its configuration files', async () => {
    expect(tiny.eosIds).toEqual(new Set([2002, 2000]))
    const { eosIds } = await variant({
      'config.json': '{"eos_token_id": 2001}',
      'generation_config.json': '{"eos_token_id": [2005]}',
    })
    expect(eosIds).toEqual(new Set([2002, 2001, 2005]))
  })

  it('has the sampling defaults of its file, and none when the model does not sample', async () => {
    expect(tiny.generationDefaults).toEqual({
      temperature: 0.7,
      topP: 0.8,
      topK: 20,
      repetitionPenalty: 1.05,
    })
    const greedy = await variant({ 'generation_config.json': '{"do_sample": false, "temperature": 1}' })
    expect(greedy.generationDefaults).toEqual({})
  })

  it('has the padded vocabulary size beside the tokenizer’s', () => {
    expect([tiny.tokenizer.vocabularySize, tiny.paddedVocabularySize]).toEqual([2009, 2048])
  })

  it('has the template of chat_template.jinja, else the one named default', async () => {
    const list = '{"chat_template":[{"name":"tool_use","template":"t"},{"name":"default","template":"d"}]}'
    const named = await variant({ 'tokenizer_config.json': list })
    expect(named.template).toMatchObject({ source: 'd', toolSource: 't' })
    const jinja = await variant({ 'chat_template.jinja': 'j' })
    expect(jinja.template).toMatchObject({ source: 'j', toolSource: null })
    const none = await variant({ 'tokenizer_config.json': '{}' })
    expect(none.template.source).toBeNull()
  })

  it('has the special tokens by name, also when they are written as objects', async () => {
    const { template } = await variant({
      'tokenizer_config.json': '{"bos_token":{"content":"<|im_start|>"},"eos_token":"<|im_end|>"}',
    })
    expect(template.specialTokens).toEqual({ bos_token: '<|im_start|>', eos_token: '<|im_end|>' })
  })

  it('is refused with the name of the file that cannot be used', async () => {
    await expect(variant({ 'generation_config.json': '{"temperature": "hot"}' })).rejects.toThrow(
      /generation_config\.json cannot be used/,
    )
    await expect(variant({ 'tokenizer.json': '{}' })).rejects.toThrow(/tokenizer\.json cannot be used/)
    await expect(createModel(new Map())).rejects.toThrow('there is no tokenizer.json')
    await expect(readModelFolder('models/no-such-model')).rejects.toThrow(/models\/no-such-model/)
  })
})
