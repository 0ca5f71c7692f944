import { untilAnswered } from '#libs/lifecycle/until-answered.ts'
import type { Logger } from '#libs/telemetry/logger.ts'
import { loadModel, readModelFiles, type LoadedModel } from '#libs/model-files/load-model.ts'
import type { TokenizerCache } from '#libs/tokenizer/tokenizer-cache.ts'
import type { Tokenizer } from '#libs/tokenizer/tokenizer.ts'
import { TokenizerFetchError } from '#libs/model-files/fetch-tokenizer-files.ts'
import type { TokenizerFiles } from '#libs/model-files/tokenizer-files.ts'
import type { RenderChat } from './prompt/render-chat.ts'

export type ServedModel = LoadedModel & { readonly chats: RenderChat }

/** Why a model cannot be loaded from one of its engines. */
export type LoadProblem = { readonly model: string; readonly reason: string }

/**
 * Loads the files of a model's folder once, whichever engine asks first: its chats take a thread. Those of a model that
 * names no folder are those of the engine, which may take minutes to start: it is tried again until they can be
 * used, and what does not pass by waiting is logged as an error, once, and stands in `problems` for as long as it
 * lasts. Rejects where a model has a folder and cannot be loaded from it, or has no file of its own.
 */
export function createModelLoader(deps: {
  modelsFolder: string
  tokenizers: Pick<TokenizerCache, 'get'>
  fetchFiles: (engine: string) => Promise<TokenizerFiles>
  openChats: (tokenizer: Tokenizer) => RenderChat
  pauses: { readonly firstPauseMs: number; readonly lastPauseMs: number }
  /** By engine: those of one model may have different ones. */
  problems: Map<string, LoadProblem>
  log: Logger
}): (of: { model: string; files: string; engine: string }) => Promise<ServedModel> {
  const { modelsFolder, tokenizers, fetchFiles, openChats, pauses, problems, log } = deps
  const models = new Map<string, Promise<ServedModel>>()

  const read = async (files: string, engine: string) =>
    await loadModel(modelsFolder, files, {
      toTokenizer: tokenizers.get,
      fetchFiles: async () => await fetchFiles(engine),
    })

  async function readOfEngine(model: string, files: string, engine: string): Promise<LoadedModel> {
    const loaded = await untilAnswered(async () => await read(files, engine), {
      ...pauses,
      onFailure: (error) => note(model, engine, error),
    })
    problems.delete(engine)
    return loaded
  }

  function note(model: string, engine: string, error: unknown): void {
    const reason = error instanceof Error ? error.message : String(error)
    if (error instanceof TokenizerFetchError && error.mayPass) {
      problems.delete(engine)
      log.info({ model, engine, reason }, 'waiting for the tokenizer')
    } else if (problems.get(engine)?.reason !== reason) {
      problems.set(engine, { model, reason })
      log.error({ model, engine, err: error }, 'a model cannot be loaded from its engine')
    }
  }

  return async ({ model, files, engine }) => {
    const isOfEngine = (await readModelFiles(modelsFolder, files)).folder === undefined
    const key = isOfEngine ? `${files} ${engine}` : files
    const open = async () => {
      const loaded = await (isOfEngine ? readOfEngine(model, files, engine) : read(files, engine))
      return { ...loaded, chats: openChats(loaded.tokenizer) }
    }
    const served = models.get(key) ?? open()
    models.set(key, served)
    return await served
  }
}
