import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { CHART } from '../chart/chart-values.ts'
import { readEvents } from '../support/sse-events.ts'
import { scratchFolder } from '../support/run-folder.ts'
import { appImage, kubectl, runProgram } from './programs.ts'
import { objectsIn, POLL, toRelease } from './release.ts'

const release = toRelease('millrace', 'millrace')

/** Returns the commands of the chart's README, without the commands that copy the image to the nodes, which have it. */
function readCommands(): string[] {
  const { repository, tag } = appImage()
  const readme = readFileSync(join(CHART, 'README.md'), 'utf8')
  const block = /## From nothing to a streamed token\n[^]*?```sh\n([^]*?)```/.exec(readme)?.[1]
  const commands = block?.trim().split('\n') ?? []
  return commands
    .filter((command) => !command.startsWith('docker '))
    .map((command) => command.replace('REGISTRY/millrace', `${repository} --set image.tag=${tag}`))
}

afterAll(
  async () => await kubectl(['delete', 'namespace', release.namespace, '--ignore-not-found', '--wait=false']),
)

test('the commands of the README of the chart, in their order, end with a stream to [DONE]', async () => {
  const commands = readCommands()
  expect(commands).toHaveLength(8)
  const script = join(scratchFolder('readme'), 'commands.sh')
  // kubectl port-forward stays.
  writeFileSync(
    script,
    ['set -e', "trap 'kill %1' EXIT", ...commands].join('\n').replaceAll('chat.sh', `${script}.chat`),
  )
  const printed = await runProgram('bash', [script])
  const stream = printed.slice(printed.indexOf('data: '))
  expect(readEvents(stream)).toMatchObject({ finishReason: 'stop', streamError: null })
  await release.settled()
})

test('the release of the README is uninstalled by its command, and leaves nothing', async () => {
  await release.uninstall()
  await expect
    .poll(async () => await objectsIn(release.namespace, release.name), POLL)
    .toEqual(['configmap/kube-root-ca.crt', 'serviceaccount/default'])
})
