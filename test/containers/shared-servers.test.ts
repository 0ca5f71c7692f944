import { onTestFinished, expect, test } from 'vitest'
import { startContainers } from '#test/support/shared-servers.ts'
import { docker, image } from './docker.ts'

test('when one image is missing, no container of the other is left', async () => {
  // The image has a name of this run, so that other runs on this Docker engine are not counted.
  const redis = `${image()}-redis:7`
  await docker(['run', '--rm', '--entrypoint', 'redis-server', 'redis:7', '--version'])
  await docker(['tag', 'redis:7', redis])
  onTestFinished(async () => void (await docker(['image', 'rm', redis])))
  await expect(startContainers({ redis, postgres: `${image()}/no-such-image:0` })).rejects.toThrow(
    'no-such-image',
  )
  const left = await docker(['ps', '--all', '--format', '{{.Image}}'])
  expect(left.split('\n')).not.toContain(redis)
})
