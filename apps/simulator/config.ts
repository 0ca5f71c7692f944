import { z } from 'zod'
import { HostPort, jsonVariable, OpsFields, Port } from '#libs/config/config-fields.ts'
import { Behaviour } from './behaviour.ts'
import { FaultSettings } from './faults.ts'
import { ServicerVersion } from './servicer-version.ts'

/** One engine. With the defaults it is a small GPU serving a small model. */
export const EngineConfig = z
  .strictObject({
    listen: HostPort,
    /** The name under which the model is served (`served_model_name`). */
    model: z.string().min(1),
    /** The name in `<MODELS_DIR>/<files>.json`, the file that lists the parts of the model. */
    files: z.string().min(1),
    kind: z.enum(['chat', 'embedding']).default('chat'),
    /** The versions of vLLM and its servicer that the engine simulates. */
    servicerVersion: ServicerVersion.default('0.32.0+0.14.1'),
    maxNumSeqs: z.int().positive().default(64),
    maxModelLen: z.int().min(2).default(4_096),
    /** The token budget of a step, prompts and outputs together. */
    maxNumBatchedTokens: z.int().positive().default(2_048),
    kvBlocks: z.int().positive().default(8_192),
    blockSize: z.int().positive().default(16),
    /**
     * A step takes `stepMs`, plus `sequenceMs` for each sequence in the step, plus the time to prefill the prompt
     * tokens of the step.
     */
    stepMs: z.number().min(0).default(8),
    sequenceMs: z.number().min(0).default(0.05),
    prefillTokensPerS: z.number().positive().default(20_000),
    /** The speed of the clock: 2 is twice as fast, 0 as fast as the processor allows. */
    speed: z.number().min(0).default(1),
    /** The number of tokens in each chunk except the first and the last (`--stream-interval`). */
    streamInterval: z.int().positive().default(1),
    /** Length of embedding vectors. */
    dimension: z.int().positive().max(65_536).default(256),
    behaviour: Behaviour.default({ type: 'persona' }),
    faults: FaultSettings.prefault({}),
  })
  .refine((engine) => engine.kvBlocks * engine.blockSize >= engine.maxModelLen, {
    message: 'kvBlocks × blockSize must cover at least one sequence of maxModelLen',
    path: ['kvBlocks'],
  })
  .refine((engine) => engine.kind === 'chat' || engine.behaviour.type === 'persona', {
    message: 'only engines of kind chat have a behaviour',
    path: ['behaviour'],
  })
export type EngineConfig = z.infer<typeof EngineConfig>

export const SimulatorConfig = z.object({
  ...OpsFields,
  OPS_PORT: Port.default(9_103),
  MODELS_DIR: z.string().default('./models'),
  SIMULATOR_ENGINES: jsonVariable(z.array(EngineConfig).min(1)),
})
