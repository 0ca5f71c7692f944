// Publishes the chart's catalog, once for each content: an upgrade that does not change it leaves prices that operators have
// published since. The audit log says which content of this release was published last.
//   node publish-catalog.mjs FILE BILLING TOKEN_FILE ORIGIN HASH KEEP [REASON]
// ORIGIN names the release; KEEP has the ids, separated by commas, of models whose prices are published by hand: they stay as
// they are, while other models that the file lacks are disabled. Waits for billing for an hour, which a migration may take.
// Exits with 1 when billing refuses.
import { spawnSync } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'

const [file, url, tokenFile, origin, hash, keep, note] = process.argv.slice(2)
if (keep === undefined) {
  console.error('usage: publish-catalog.mjs FILE BILLING TOKEN_FILE ORIGIN HASH KEEP [REASON]')
  process.exit(2)
}
const LIMIT_MS = 3_600_000
const UNREACHABLE = 3
const giveUpAtMs = performance.now() + LIMIT_MS

const { data: publications } = JSON.parse(
  await ctl(['audit', '--action', 'publishCatalog', '--limit', '1000', '--json']),
)
const last = publications.find(({ reason }) => reason?.startsWith(`${origin} `))
if (last?.reason.startsWith(`${origin} ${hash}`)) {
  console.log(`published before, at ${last.at}: ${last.reason}`)
} else {
  const reason = `${origin} ${hash}${note ? `: ${note}` : ''}`
  const kept = keep === '' ? [] : ['--keep', keep]
  console.log(await ctl(['models', 'publish', file, '--disable-missing', ...kept, '--reason', reason]))
}

/** The output of the operators' command line; repeats it until billing answers. */
async function ctl(args) {
  for (;;) {
    const words = ['apps/ctl/main.ts', ...args, '--url', url, '--token-file', tokenFile]
    const { status, stdout, stderr } = spawnSync(process.execPath, words, { encoding: 'utf8' })
    if (status === 0) return stdout
    console.error(stderr.trim())
    if (status !== UNREACHABLE || performance.now() >= giveUpAtMs) process.exit(1)
    await sleep(2_000)
  }
}
