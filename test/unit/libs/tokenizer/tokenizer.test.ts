import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as fc from 'fast-check'
import { Tokenizer as NativeTokenizer } from 'tokenizers'
import { afterEach, describe, expect, it } from 'vitest'
import { loadTokenizer } from '#libs/tokenizer/tokenizer.ts'
import { recordedChats } from '../chat-template/recorded-chats.ts'

const TINY = 'models/tiny'
const tokenizer = await loadTokenizer(TINY)

const folders: string[] = []
afterEach(async () => {
  await Promise.all(folders.splice(0).map((folder) => rm(folder, { recursive: true })))
})

/** A copy of the tiny model in which some files have other content. */
async function variant(files: Record<string, (old: string) => string>): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'tokenizer-'))
  folders.push(folder)
  await cp(TINY, folder, { recursive: true })
  for (const [name, change] of Object.entries(files)) {
    const old = await readFile(join(folder, name), 'utf8').catch(() => '')
    await writeFile(join(folder, name), change(old))
  }
  return folder
}

describe('encode', () => {
  it.for(recordedChats.texts)('gives $text the ids that vLLM gives it', async ({ text, token_ids }) => {
    expect(await tokenizer.encode(text)).toEqual(token_ids)
  })

  it.for(recordedChats.conversations)('gives the prompt "$name" the ids that vLLM gives it', async (chat) => {
    expect(await tokenizer.encode(chat.prompt)).toEqual(chat.token_ids)
  })

  it('puts the special tokens of the model’s own post-processor around a text that stands by itself', async () => {
    const end = { id: '<|endoftext|>', ids: [2_000], tokens: ['<|endoftext|>'] }
    const template = {
      type: 'TemplateProcessing',
      single: [{ Sequence: { id: 'A', type_id: 0 } }, { SpecialToken: { id: end.id, type_id: 0 } }],
      pair: [],
      special_tokens: { [end.id]: end },
    }
    const folder = await variant({
      'tokenizer.json': (old) => JSON.stringify({ ...JSON.parse(old), post_processor: template }),
    })
    const ended = await loadTokenizer(folder)
    const ids = await tokenizer.encode('Hello world')
    expect(await ended.encodeWhole('Hello world')).toEqual(Uint32Array.of(...ids, 2_000))
    expect(await ended.encode('Hello world')).toEqual(ids)
    expect(await tokenizer.encodeWhole('Hello world')).toEqual(ids)
  })

  it('of pieces puts no blank between them, where the tokenizer puts one before a text', async () => {
    const other = await loadTokenizer('test/fixtures/tokenizers/byte-fallback-bpe')
    const pieces = ['hello <', '|im_end|> the', ' word']
    expect(other.decode(await other.encodePieces(pieces))).toBe('hello <|im_end|> the word')
    expect(await other.encodePieces(['hello'])).toEqual(await other.encode('hello'))
    expect(await other.encodePieces([])).toEqual(new Uint32Array(0))
  })

  it('never truncates nor pads, whatever tokenizer.json says', async () => {
    const folder = await variant({
      'tokenizer.json': (old) =>
        old.replace(
          '"truncation":null,"padding":null',
          '"truncation":{"direction":"Right","max_length":3,"strategy":"LongestFirst","stride":0},' +
            '"padding":{"strategy":{"Fixed":9},"direction":"Right","pad_to_multiple_of":null,' +
            '"pad_id":2000,"pad_type_id":0,"pad_token":"<|endoftext|>"}',
        ),
    })
    const other = await loadTokenizer(folder)
    expect(await other.encode('Hello world')).toEqual(await tokenizer.encode('Hello world'))
    expect(await other.encode('a')).toHaveLength(1)
  })
})

describe('decode', () => {
  it('gives back every text that survives normalisation', async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'grapheme' }), async (text) => {
        expect(tokenizer.decode(await tokenizer.encode(text))).toBe(text.normalize('NFC'))
      }),
    )
  })

  it('equals the native decoder on random ids, invalid UTF-8 included', async () => {
    const native = NativeTokenizer.fromFile(join(TINY, 'tokenizer.json'))
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat({ max: 2008 }), { minLength: 1 }), async (ids) => {
        expect(tokenizer.decode(ids)).toBe(await native.decode(ids, false))
      }),
      { numRuns: 500 },
    )
  })

  it('decodes ids that have no text to nothing', () => {
    expect(tokenizer.decode([39, 2040, 1_000_000, 72])).toBe('Hi')
  })
})

describe('what the model folder says', () => {
  it('merges the end ids of all configuration files', async () => {
    expect(tokenizer.eosIds).toEqual(new Set([2002, 2000]))
    const folder = await variant({
      'config.json': () => '{"eos_token_id": 2001}',
      'generation_config.json': () => '{"eos_token_id": [2005]}',
    })
    expect((await loadTokenizer(folder)).eosIds).toEqual(new Set([2002, 2001, 2005]))
  })

  it('reads the sampling defaults, and none when the model does not sample', async () => {
    expect(tokenizer.samplingDefaults).toEqual({
      temperature: 0.7,
      topP: 0.8,
      topK: 20,
      repetitionPenalty: 1.05,
    })
    const greedy = await variant({ 'generation_config.json': () => '{"do_sample": false, "temperature": 1}' })
    expect((await loadTokenizer(greedy)).samplingDefaults).toEqual({})
  })

  it('tells special tokens from added text, and the tokenizer size from the padded one', () => {
    expect(tokenizer.isSpecial(2002)).toBe(true)
    expect(tokenizer.isSpecial(2005)).toBe(false)
    expect(tokenizer.tokenId('<think>')).toBe(2005)
    expect(tokenizer.tokenId('no such token')).toBeNull()
    expect(tokenizer.vocabularySize).toBe(2009)
    expect(tokenizer.paddedVocabularySize).toBe(2048)
  })

  it('prefers chat_template.jinja, then the template named default', async () => {
    const list = '{"chat_template":[{"name":"tool_use","template":"t"},{"name":"default","template":"d"}]}'
    const named = await variant({ 'tokenizer_config.json': () => list })
    expect((await loadTokenizer(named)).chatTemplate).toBe('d')
    const file = await variant({ 'chat_template.jinja': () => 'j' })
    expect((await loadTokenizer(file)).chatTemplate).toBe('j')
    const none = await variant({ 'tokenizer_config.json': () => '{}' })
    expect((await loadTokenizer(none)).chatTemplate).toBeNull()
  })

  it('names the special tokens, also when they are written as objects', async () => {
    const folder = await variant({
      'tokenizer_config.json': () => '{"bos_token":{"content":"<|im_start|>"},"eos_token":"<|im_end|>"}',
    })
    expect((await loadTokenizer(folder)).specialTokens).toEqual({
      bos_token: '<|im_start|>',
      eos_token: '<|im_end|>',
    })
  })

  it('refuses a decoder that it cannot follow, and one that is byte-level only in part', async () => {
    const decodedBy = (decoder: string) =>
      variant({
        'tokenizer.json': (old) =>
          old.replace(/"decoder":\{"type":"ByteLevel"[^}]*\}/, `"decoder":${decoder}`),
      })
    const ctc = await decodedBy(
      '{"type":"CTC","pad_token":"<pad>","word_delimiter_token":"|","cleanup":true}',
    )
    await expect(loadTokenizer(ctc)).rejects.toThrow(
      /tokenizer-.* a step CTC of a kind that is not supported/,
    )
    const mixed = await decodedBy('{"type":"Sequence","decoders":[{"type":"ByteLevel"},{"type":"Fuse"}]}')
    await expect(loadTokenizer(mixed)).rejects.toThrow(/only in part \(ByteLevel \+ Fuse\)/)
  })

  it('refuses a file whose control tokens the library numbers otherwise', async () => {
    const folder = await variant({
      'tokenizer.json': (old) => {
        const file = JSON.parse(old)
        for (const token of file.added_tokens) token.id += 1
        return JSON.stringify(file)
      },
    })
    await expect(loadTokenizer(folder)).rejects.toThrow(
      /the token <\|endoftext\|> is 2000 .* 2001 in the file/,
    )
  })

  it('names the file that it cannot use', async () => {
    const folder = await variant({ 'generation_config.json': () => '{"temperature": "hot"}' })
    await expect(loadTokenizer(folder)).rejects.toThrow(/generation_config\.json cannot be used/)
    await expect(loadTokenizer('models/no-such-model')).rejects.toThrow(/models\/no-such-model/)
  })
})
