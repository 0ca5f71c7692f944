// `npm run test:chart`: the Helm chart with Helm 4 and Helm 3: lint, golden files, policies, refused values. It looks for the
// programs `helm` and `helm3` in KUBE_LAB_BIN; tests of values that need no Helm are part of `npm test`.
import { accessSync, constants } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { checkPlatform, ensureDependencies } from './bootstrap/dependencies.mjs'
import { runScript } from './bootstrap/fail.mjs'
import { runTests } from './bootstrap/run-tests.mjs'

const PROGRAMS = ['helm', 'helm3']

await runScript(async () => {
  const folder = process.env.KUBE_LAB_BIN ?? join(homedir(), '.cache/kube-lab')
  const missing = PROGRAMS.filter((program) => !isExecutable(join(folder, program)))
  if (missing.length > 0) {
    console.error(
      `test:chart: ${folder} lacks ${missing.join(' and ')}: set KUBE_LAB_BIN to a folder with Helm 4 as helm and Helm 3 as helm3`,
    )
    return 3
  }
  checkPlatform()
  await ensureDependencies({ dev: true })
  process.env.KUBE_LAB_BIN = folder
  const { passed, failed } = await runTests(['--project', 'chart', ...process.argv.slice(2)])
  console.log(`${passed} passed, ${failed} failed`)
  return failed === 0 ? 0 : 1
})

function isExecutable(path) {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
