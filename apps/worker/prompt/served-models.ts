import { untilAnswered } from '#libs/lifecycle/until-answered.ts'
import { describeTemplate } from '#libs/model-files/describe-template.ts'
import { ModelFetchError } from '#libs/model-files/fetch-model-files.ts'
import { loadModel, readManifest, type LoadedModel } from '#libs/model-files/load-model.ts'
import type { ModelFiles } from '#libs/model-files/model-files.ts'
import type { Logger } from '#libs/telemetry/logger.ts'
import type { Tokenizer } from '#libs/tokenizer/tokenizer.ts'
import type { RenderedModel, ThreadedChatRenderer } from './threaded-chat-renderer.ts'

export type ServedModel = LoadedModel & {
  readonly renderer: ThreadedChatRenderer
  /** The parts of a conversation that the model's chat template cannot print; null without a template. */
  readonly refuses: readonly string[] | null
}

/** The reason for which a model cannot be loaded from one of its engines. */
export type LoadProblem = { readonly model: string; readonly reason: string }

/**
 * Loads the models that this worker serves. A model with a folder is loaded once for all its engines, with one
 * renderer; if that fails, the promise rejects. A model without a folder is loaded once per engine, from the engine's
 * files. An engine may take minutes to start, so loading is repeated until it succeeds. If an error cannot be mended by
 * waiting, it is logged once, and stays in `problems` as long as it lasts. A model is served only when the thread of
 * its renderer has started.
 */
export function createServedModels(deps: {
  modelsFolder: string
  toTokenizer: (json: string) => Promise<Tokenizer>
  fetchFiles: (engine: string) => Promise<ModelFiles>
  openRenderer: (model: RenderedModel) => ThreadedChatRenderer
  pauses: { readonly firstPauseMs: number; readonly lastPauseMs: number }
  /** The problems by engine, because the engines of one model may have different problems. */
  problems: Map<string, LoadProblem>
  log: Logger
}): (of: { model: string; files: string; engine: string }) => Promise<ServedModel> {
  const { modelsFolder, toTokenizer, fetchFiles, openRenderer, pauses, problems, log } = deps
  const models = new Map<string, Promise<ServedModel>>()

  const load = async (files: string, engine: string) =>
    await loadModel(modelsFolder, files, {
      toTokenizer,
      fetchFiles: async () => await fetchFiles(engine),
    })

  async function loadFromEngine(model: string, files: string, engine: string): Promise<LoadedModel> {
    const loaded = await untilAnswered(async () => await load(files, engine), {
      ...pauses,
      onFailure: (error) => note(model, engine, error),
    })
    problems.delete(engine)
    return loaded
  }

  function note(model: string, engine: string, error: unknown): void {
    const reason = error instanceof Error ? error.message : String(error)
    if (error instanceof ModelFetchError && error.isTransient) {
      problems.delete(engine)
      log.info({ model, engine, reason }, 'waiting for the model files of the engine')
    } else if (problems.get(engine)?.reason !== reason) {
      problems.set(engine, { model, reason })
      log.error({ model, engine, err: error }, 'a model cannot be loaded from its engine')
    }
  }

  return async ({ model, files, engine }) => {
    const isFromEngine = (await readManifest(modelsFolder, files)).folder === undefined
    const key = isFromEngine ? `${files} ${engine}` : files
    const open = async () => {
      const loaded = await (isFromEngine ? loadFromEngine(model, files, engine) : load(files, engine))
      const renderer = openRenderer({ template: loaded.template, toolCalls: loaded.family.toolCalls })
      // Otherwise the first large chat would wait for the thread, which takes half a second or more to start.
      await renderer.started
      return {
        ...loaded,
        refuses: describeTemplate(loaded, loaded.family)?.refused ?? null,
        renderer,
      }
    }
    const served = models.get(key) ?? open()
    models.set(key, served)
    return await served
  }
}
