import { Tokenizer } from '@huggingface/tokenizers'
import { z } from 'zod'
import type { Encoder } from '#libs/tokenizer/encoding/encoder.ts'

const Normalizer = z.looseObject({
  type: z.string(),
  handle_chinese_chars: z.boolean().optional(),
  lowercase: z.boolean().nullish(),
})
const File = z.looseObject({
  normalizer: Normalizer.extend({ normalizers: z.array(Normalizer).optional() }).nullish(),
})

/**
 * Hugging Face's tokenizers in JavaScript: an independent implementation, compared with the native encoder. It differs
 * in characters that are newer to Unicode than this library's tables, where a tokenizer normalizes by them.
 */
export function createJavascriptEncoder(json: string): Encoder {
  const file = File.parse(JSON.parse(json))
  const normalizers = [file.normalizer, ...(file.normalizer?.normalizers ?? [])]
  // The second argument is tokenizer_config.json. It is empty, because the native library lacks some of its options.
  const tokenizer = new Tokenizer(file, {})
  const setsHanApart = normalizers.some((normalizer) => normalizer?.handle_chinese_chars === true)
  const lowers = normalizers.some(
    (normalizer) => normalizer?.lowercase === true || normalizer?.type === 'Lowercase',
  )

  /**
   * BERT's normalizer makes every Chinese character a word; this library omits those beyond U+FFFF. The native library
   * lowers each character by itself; this one treats the last sigma of a word differently.
   */
  function prepare(text: string): string {
    const apart = setsHanApart ? text.replaceAll(RARE_HAN, ' $& ') : text
    return lowers ? apart.replaceAll('Σ', 'σ') : apart
  }

  return {
    encode: async (texts, { whole }) =>
      texts.map((text) => {
        const { ids } = tokenizer.encode(prepare(text.toWellFormed()), { add_special_tokens: whole })
        return Uint32Array.from(ids)
      }),
  }
}

const RARE_HAN = /[\u{20000}-\u{2A6DF}\u{2A700}-\u{2B81F}\u{2B920}-\u{2CEAF}\u{2F800}-\u{2FA1F}]/gu
