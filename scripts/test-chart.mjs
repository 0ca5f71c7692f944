// `npm run test:chart`: tests the Helm chart with Helm 4 and Helm 3: lint, golden files, policies, refused values. It
// looks for the programs `helm` and `helm3` in KUBE_LAB_BIN. Tests of values that need no Helm are part of `npm test`.
import { checkPlatform, ensureDependencies } from './bootstrap/dependencies.mjs'
import { runScript } from './bootstrap/fail.mjs'
import { labPrograms, missingIn, refuse } from './bootstrap/lab.mjs'
import { runAndCount } from './bootstrap/run-tests.mjs'

const PROGRAMS = ['helm', 'helm3']

await runScript(async () => {
  const folder = labPrograms()
  const missing = missingIn(folder, PROGRAMS)
  if (missing.length > 0) {
    const wanted = 'set KUBE_LAB_BIN to a folder with Helm 4 as helm and Helm 3 as helm3'
    return refuse('test:chart', `these programs are missing: ${missing.join(', ')}; ${wanted}`)
  }
  checkPlatform()
  await ensureDependencies({ dev: true })
  process.env.KUBE_LAB_BIN = folder
  return await runAndCount(['--project', 'chart', ...process.argv.slice(2)])
})
