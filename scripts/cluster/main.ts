// Runs the cluster for `npm start`. scripts/start.mjs starts this program under the installed Node, with the options as
// one JSON argument and a pipe as descriptor 3; the end of the pipe is the request to stop.
import { Socket } from 'node:net'
import { redactCredentials, toPrintedError } from '#libs/telemetry/loggable-error.ts'
import { createSay } from '../servers/say.ts'
import { SetupError } from '../servers/setup-error.ts'
import { lockHome } from './lock-home.ts'
import { ClusterOptions } from './cluster-options.ts'
import { createClient } from './create-client.ts'
import { assertPortFree, curlLine, gatewayUrl, waitUntilServing } from './gateway-address.ts'
import { prepareHome } from './prepare-home.ts'
import { createProcessList } from './process-list.ts'
import { loadSecrets } from './secrets.ts'
import { startCluster } from './start-cluster.ts'

/**
 * Signals within this time after the first signal belong to the same Ctrl-C, because a shell or npm may pass the signal
 * on as well.
 */
const SAME_REQUEST_MS = 1_000

class StopRequest extends Error {}

const options = ClusterOptions.parse(JSON.parse(process.argv[2] ?? ''))
const say = createSay(performance.now() - options.startedMsAgo)
const stop = new AbortController()
// The reader of the output may have ended. The cluster keeps running, and stops in order.
process.stdout.on('error', () => {})
process.stderr.on('error', () => {})
process.exitCode = await run().then(
  () => 0,
  (error: unknown) => {
    if (error instanceof StopRequest) return 0
    const reason =
      error instanceof SetupError ? error.message : `Millrace could not start: ${toPrintedError(error)}`
    console.error(redactCredentials(reason))
    return 1
  },
)

/** Starts the cluster and runs it until it is asked to stop. Rejects with the reason of its end. */
async function run(): Promise<never> {
  const url = gatewayUrl(options)
  const { home } = options
  prepareHome(home)
  const lock = await lockHome(home, url)
  const list = createProcessList({ lock, say, onUnexpectedEnd: (error) => stop.abort(error) })
  const stopPipe = listenForStop(() => list.killAll())
  try {
    await assertPortFree(options)
    say(`starting Millrace; state and logs are in ${home}`)
    const { signal } = stop
    const secrets = loadSecrets(home)
    const giveUp = (reason: unknown) => stop.abort(reason)
    const { adminUrl, consoleUrl } = await startCluster({ options, secrets, list, say, signal, giveUp })
    const key = await createClient({ home, adminUrl, adminToken: secrets.adminToken, baseUrl: `${url}/v1` })
    await waitUntilServing({ url, key, signal })
    say(`Millrace is ready at ${url}/v1 (address and key: ${home}/client.env). Try it:\n`)
    console.log(curlLine({ url, key }))
    say(`the key's owner sees what it spends at ${url}/account`)
    say(`the operators' page is at ${consoleUrl}; its token is adminToken in ${home}/secrets.json`)
    console.log('\nCtrl-C stops everything; the state stays for the next start.')
    return await untilAborted(signal)
  } finally {
    await list.stopAll()
    lock.release()
    stopPipe.destroy()
  }
}

/** Stops the cluster on a signal or when the pipe ends. The pipe keeps this process alive until it is destroyed. */
function listenForStop(kill: () => void): Socket {
  let firstAt: number | undefined
  const stopPipe = new Socket({ fd: 3, readable: true, writable: false })
  stopPipe.on('error', () => {})
  stopPipe.on('close', () => stop.abort(new StopRequest()))
  stopPipe.resume()
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
    process.on(signal, () => {
      firstAt ??= performance.now()
      if (performance.now() - firstAt > SAME_REQUEST_MS) kill()
      stop.abort(new StopRequest())
    })
  }
  return stopPipe
}

async function untilAborted(signal: AbortSignal): Promise<never> {
  const { promise, reject } = Promise.withResolvers<never>()
  const fail = () => reject(signal.reason)
  if (signal.aborted) fail()
  else signal.addEventListener('abort', fail, { once: true })
  return await promise
}
