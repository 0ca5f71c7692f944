import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { COMPILE_CACHE } from '#scripts/servers/compile-cache.ts'

it('without the native tokenizers library a worker does not start, and logs platform and remedy', async () => {
  // Node refuses to load native code here, as on a platform for which there is no build.
  const run = promisify(execFile)(process.execPath, ['--no-addons', 'apps/worker/main.ts'], {
    env: {
      NODE_COMPILE_CACHE: COMPILE_CACHE,
      QUEUE_REDIS_URL: 'redis://127.0.0.1:1',
      BUS_REDIS_URL: 'redis://127.0.0.1:1',
      WORKERS: '[{"model":"demo","files":"demo","engine":"127.0.0.1:1"}]',
    },
  })
  await expect(run).rejects.toMatchObject({
    code: 1,
    stdout: expect.stringMatching(/cannot be loaded on linux-\w+: use Linux on x64 or arm64, .* npm ci/),
  })
})
