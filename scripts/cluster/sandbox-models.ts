/** As many at once as a test suite may ask for, so that waiting for one another changes nothing. */
const COMMON = { files: 'demo', kind: 'chat', maxNumSeqs: 64, kvBlocks: 2_048 } as const

/**
 * The engines of the models in deploy/catalog.sandbox.json, as the simulator's configuration has them; what is
 * not here needs none. docs/sandbox.md tells what callers see.
 */
export const SANDBOX_ENGINES = [
  { model: 'test/upstream-error', ...COMMON, behaviour: { type: 'fails-before-text' } },
  { model: 'test/midstream-error', ...COMMON, behaviour: { type: 'fails-in-text' } },
  { model: 'test/slow', ...COMMON, behaviour: { type: 'waits', firstTokenMs: 20_000 } },
  // More than the catalog lets it say.
  { model: 'test/length', ...COMMON, behaviour: { type: 'writes', tokens: 1_000 } },
  { model: 'test/long', ...COMMON, behaviour: { type: 'writes', tokens: 4_000 } },
] as const
