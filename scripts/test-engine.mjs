// `npm run test:engine -- HOST:PORT [ARGUMENTS OF THE ENGINE]`: the engine contract suite against a running vLLM that
// serves models/tiny. The engines of the recordings were started with:
//
//   vllm serve models/tiny --served-model-name ./tiny --grpc --host 127.0.0.1 --port 50051 --load-format dummy \
//     --dtype float32 --enforce-eager --max-model-len 2048 --max-num-seqs 8
//
// An engine with further arguments is compared with the recordings that were made with the same arguments. Name these
// arguments here as well, for example `--runner pooling --convert embed`. The engine must have no other requests, and
// must leave a core to the suite. So on a machine with two cores start it with `taskset -c 1` and OMP_NUM_THREADS=1;
// otherwise the suite stalls for seconds and misses states that it waits for.
import { checkPlatform, ensureDependencies } from './bootstrap/dependencies.mjs'
import { runScript } from './bootstrap/fail.mjs'
import { runAndCount } from './bootstrap/run-tests.mjs'

const CALLS = ['engine-wire', 'engine-rpcs']
/** The scenarios that are recorded only without further arguments. */
const SCENARIOS = ['engine-scenarios', 'engine-client', 'engine-salt', 'engine-neighbours']

await runScript(async () => {
  const [address, ...args] = process.argv.slice(2)
  if (address === undefined || !/^[^\s:]+:\d{1,5}$/.test(address)) {
    console.error('npm run test:engine -- HOST:PORT [ARGUMENTS OF THE ENGINE]')
    return 2
  }
  checkPlatform()
  await ensureDependencies({ dev: true })
  process.env.MILLRACE_ENGINE = address
  process.env.MILLRACE_ENGINE_ARGS = JSON.stringify(args)
  // The files run one after another, because they share the one engine.
  const suite = args.length === 0 ? [...CALLS, ...SCENARIOS] : CALLS
  const files = suite.map((name) => `test/contract/${name}.test.ts`)
  // A stall of the machine lets a test miss the state that it waits for, so a test that fails runs again.
  const options = [
    '--project',
    'contract',
    '--no-file-parallelism',
    '--test-timeout',
    '60000',
    '--retry',
    '2',
  ]
  return await runAndCount([...options, ...files])
})
