// A vLLM gRPC engine without a GPU. One process may have several engines. config.ts lists the fields of an engine.
//
//   SIMULATOR_ENGINES='[{"listen":"127.0.0.1:50051","model":"demo","files":"demo"}]' node apps/simulator/main.ts
//
// The answer is a function of the conversation (persona/):
// - It repeats the conversation.
// - It calls an offered tool if the user's last message contains a word of the tool's name. If the conversation ends
//   with results of tools, it calls no tool and repeats these results.
// - It follows constraints.
// - In families that think, it begins with a thought. Calls and thoughts are in the format of the family.
//
// Two directives in the last user message change the answer:
//   [[tokens=4000]]       writes exactly that many tokens
//   [[raw=invalid-utf8]]  writes bytes that are not UTF-8 between the words
//
// The field `behaviour` of an engine can replace this answer by a fixed answer, the same in every call (behaviour.ts).
// Faults are changed on the operators' port: GET and POST /faults (faults.ts).
import { Registry } from '@prometheus-io/client'
import { runApp } from '#libs/lifecycle/run-app.ts'
import { closeOps, serveOps } from '#libs/telemetry/serve-ops.ts'
import { SimulatorConfig } from './config.ts'
import { startEngine, type Engine } from './engine.ts'
import { registerEngineMetrics } from './metrics.ts'
import { loadEngineModel } from './model.ts'
import { createFaultsRoute } from './serve-faults.ts'

await runApp({ name: 'simulator', schema: SimulatorConfig, environment: process.env }, async (context) => {
  const { config, log, releasers } = context
  const started: (Engine & { model: string; listen: string; place: number })[] = []
  // The engines are in the order of the configuration, not of their starts.
  const engines = () => started.toSorted((a, b) => a.place - b.place)
  const registry = new Registry()
  registerEngineMetrics(registry, engines)
  const ops = await serveOps({
    app: 'simulator',
    host: config.OPS_HOST,
    port: config.OPS_PORT,
    registry,
    routes: new Map([['/faults', createFaultsRoute(engines)]]),
    readiness: () => {
      const listening = started.filter((engine) => engine.address() !== null).length
      const wanted = config.SIMULATOR_ENGINES.length
      return listening === wanted
        ? { ready: true }
        : { ready: false, reason: `${listening} of ${wanted} engines listen` }
    },
  })
  releasers.add('ops', ops, { run: closeOps })

  // The engines stop at the same time, because each waits up to 5 s for its open streams.
  releasers.add('engines', started, {
    run: () => Promise.all(started.map((engine) => engine.stop())),
    limitMs: 10_000,
  })

  const names = new Set(config.SIMULATOR_ENGINES.map((engine) => engine.files))
  const models = new Map(
    await Promise.all(
      Array.from(names, async (name) => [name, await loadEngineModel(config.MODELS_DIR, name)] as const),
    ),
  )
  await Promise.all(
    config.SIMULATOR_ENGINES.map(async (engineConfig, place) => {
      const model = models.get(engineConfig.files)
      if (model === undefined) throw new Error(`no model was loaded for ${engineConfig.files}`)
      const engine = await startEngine({ config: engineConfig, model, log })
      started.push({ ...engine, model: engineConfig.model, listen: engineConfig.listen, place })
    }),
  )
})
