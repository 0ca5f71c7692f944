import type { Logger } from '#libs/telemetry/logger.ts'
import type { TokenizerFile } from '../tokenizer-file.ts'
import type { Encoder } from './encoder.ts'
import { openJavascriptEncoder } from './javascript-encoder.ts'
import { NativeUnavailableError, openNativeEncoder } from './native-encoder.ts'

/** The native encoder; the one in JavaScript where the platform has none. Throws for a tokenizer.json of no use. */
export async function openEncoder(file: TokenizerFile, log: Logger): Promise<Encoder> {
  try {
    return await openNativeEncoder(file)
  } catch (error) {
    if (!(error instanceof NativeUnavailableError)) throw error
    log.warn({ err: error }, 'no native tokenizers library here: texts are tokenized in JavaScript')
    return openJavascriptEncoder(file, log)
  }
}
