import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import * as fc from 'fast-check'
import { Tokenizer as NativeTokenizer } from 'tokenizers'
import { describe, expect, it } from 'vitest'
import { createTokenizer } from '#libs/tokenizer/tokenizer.ts'
import { loadTokenizer } from '#test/support/load-tokenizer.ts'
import { runs } from '#test/support/long.ts'
import { recordedChats } from '../chat-template/recorded-chats.ts'

const TINY = 'models/tiny'
const tokenizer = await loadTokenizer(TINY)

const json = await readFile(join(TINY, 'tokenizer.json'), 'utf8')

describe('encode', () => {
  it.for(recordedChats.texts)('gives $text the ids that vLLM gives it', async ({ text, token_ids }) => {
    expect(await tokenizer.encode(text)).toEqual(token_ids)
  })

  it.for(recordedChats.conversations)('gives the prompt "$name" the ids that vLLM gives it', async (chat) => {
    expect(await tokenizer.encode(chat.prompt)).toEqual(chat.token_ids)
  })

  it('puts the special tokens of the post-processor around a complete text', async () => {
    const end = { id: '<|endoftext|>', ids: [2_000], tokens: ['<|endoftext|>'] }
    const template = {
      type: 'TemplateProcessing',
      single: [{ Sequence: { id: 'A', type_id: 0 } }, { SpecialToken: { id: end.id, type_id: 0 } }],
      pair: [],
      special_tokens: { [end.id]: end },
    }
    const ended = await createTokenizer(JSON.stringify({ ...JSON.parse(json), post_processor: template }))
    const ids = await tokenizer.encode('Hello world')
    expect(await ended.encodeWhole('Hello world')).toEqual(Uint32Array.of(...ids, 2_000))
    expect(await ended.encode('Hello world')).toEqual(ids)
    expect(await tokenizer.encodeWhole('Hello world')).toEqual(ids)
  })

  it('asks the library only for what is not plain, for whole texts and for long ones', async () => {
    const asked: string[] = []
    const recorded = await createTokenizer(json, {
      wrapEncoder: (encoder) => ({
        async encode(texts, options) {
          asked.push(...texts)
          return await encoder.encode(texts, options)
        },
      }),
    })
    const long = 'word '.repeat(1_000)
    const texts = ['<|im_start|>user\nHello<|im_end|>', 'Hello', 'naïve', long]
    for (const text of texts) {
      expect(await recorded.encodePieces([text])).toEqual(await tokenizer.encode(text))
    }
    await recorded.encodeWhole('whole')
    expect(asked).toEqual(['naïve', long, 'whole'])
  })

  it('puts no blank between pieces, where the tokenizer puts one before a text', async () => {
    const other = await loadTokenizer('test/fixtures/tokenizers/byte-fallback-bpe')
    const pieces = ['hello <', '|im_end|> the', ' word']
    expect(other.decode(await other.encodePieces(pieces))).toBe('hello <|im_end|> the word')
    expect(await other.encodePieces(['hello'])).toEqual(await other.encode('hello'))
    expect(await other.encodePieces([])).toEqual(new Uint32Array(0))
  })

  it('a vocabulary may have ids without a token', async () => {
    const file = JSON.parse(json)
    const vocab = { ...file.model.vocab, Ġzqzq: 3_000 }
    const added = [{ ...file.added_tokens[0], id: 2_001, content: '<|added|>' }]
    const sparse = await createTokenizer(
      JSON.stringify({ ...file, model: { ...file.model, vocab }, added_tokens: added }),
    )
    expect(sparse.tokenId(' nothing')).toBeNull()
    expect(await sparse.encode('Hello world')).toEqual(await tokenizer.encode('Hello world'))
    expect(sparse.decode([3_000, 2_500])).toBe(' zqzq')
  })

  it('ignores the truncation and padding of tokenizer.json', async () => {
    const limits =
      '"truncation":{"direction":"Right","max_length":3,"strategy":"LongestFirst","stride":0},' +
      '"padding":{"strategy":{"Fixed":9},"direction":"Right","pad_to_multiple_of":null,' +
      '"pad_id":2000,"pad_type_id":0,"pad_token":"<|endoftext|>"}'
    const limited = json.replace('"truncation":null,"padding":null', limits)
    expect(limited).toContain('"max_length":3')
    const other = await createTokenizer(limited)
    expect(await other.encode('Hello world')).toEqual(await tokenizer.encode('Hello world'))
    expect(await other.encode('a')).toHaveLength(1)
  })
})

describe('decode', () => {
  it('returns every text as the normalizer left it', async () => {
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
      { numRuns: runs(100, 500) },
    )
  })

  it('decodes ids that have no text to nothing', () => {
    expect(tokenizer.decode([39, 2040, 1_000_000, 72])).toBe('Hi')
  })
})

describe('the vocabulary', () => {
  it('has special tokens and added text', () => {
    expect(tokenizer.isSpecial(2002)).toBe(true)
    expect(tokenizer.isSpecial(2005)).toBe(false)
    expect(tokenizer.tokenId('<think>')).toBe(2005)
    expect(tokenizer.tokenId('no such token')).toBeNull()
    expect(tokenizer.vocabularySize).toBe(2009)
  })
})

describe('refused is', () => {
  it('a decoder of an unsupported kind, and one that is byte-level only in part', async () => {
    const decodedBy = (decoder: string) =>
      createTokenizer(json.replace(/"decoder":\{"type":"ByteLevel"[^}]*\}/, `"decoder":${decoder}`))
    const ctc = '{"type":"CTC","pad_token":"<pad>","word_delimiter_token":"|","cleanup":true}'
    await expect(decodedBy(ctc)).rejects.toThrow(/a step CTC of a kind that is not supported/)
    const mixed = '{"type":"Sequence","decoders":[{"type":"ByteLevel"},{"type":"Fuse"}]}'
    await expect(decodedBy(mixed)).rejects.toThrow(/only in part \(ByteLevel \+ Fuse\)/)
  })

  it('a file whose added tokens have other ids in the library', async () => {
    const file = JSON.parse(json)
    for (const token of file.added_tokens) token.id += 1
    await expect(createTokenizer(JSON.stringify(file))).rejects.toThrow(
      /the token <\|endoftext\|> is 2000 .* 2001 in the file/,
    )
  })

  it('a file of another shape', async () => {
    await expect(createTokenizer('{}')).rejects.toThrow('tokenizer.json cannot be used')
  })
})
