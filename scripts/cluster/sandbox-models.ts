/**
 * The settings that all sandbox engines share. Each engine has as many slots as a test suite may need, so that requests
 * do not wait for each other.
 */
const COMMON = { files: 'demo', kind: 'chat', maxNumSeqs: 64, kvBlocks: 2_048 } as const

/**
 * The engines of the models in deploy/catalog.sandbox.json, in the form of the simulator's configuration. Models that
 * are not listed here need no engine. docs/sandbox.md describes how each model answers.
 */
export const SANDBOX_ENGINES = [
  { model: 'test/upstream-error', ...COMMON, behaviour: { type: 'fails-before-text' } },
  { model: 'test/midstream-error', ...COMMON, behaviour: { type: 'fails-in-text' } },
  { model: 'test/slow', ...COMMON, behaviour: { type: 'waits', firstTokenMs: 20_000 } },
  // More tokens than the model's maximum output in the catalog.
  { model: 'test/length', ...COMMON, behaviour: { type: 'writes', tokens: 1_000 } },
  { model: 'test/long', ...COMMON, behaviour: { type: 'writes', tokens: 4_000 } },
] as const
