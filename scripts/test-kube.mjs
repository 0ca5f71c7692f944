// `npm run test:kube`: tests the Helm chart and the scaler on a real Kubernetes control plane with KEDA, as processes
// on loopback. It starts and stops this lab with the scripts up.sh and down.sh of the folder KUBE_LAB; the programs are
// in KUBE_LAB_BIN. Without the scripts or the programs it exits with status 3, which is not a pass. Arguments are
// passed to Vitest. KUBE_LAB_STATE names a lab that already runs.
import { checkPlatform, ensureDependencies } from './bootstrap/dependencies.mjs'
import { runScript } from './bootstrap/fail.mjs'
import { labPrograms, missingIn, refuse } from './bootstrap/lab.mjs'
import { runAndCount } from './bootstrap/run-tests.mjs'

const SCRIPTS = ['up.sh', 'down.sh']
const CONTROL_PLANE = ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler', 'kwok']
const KEDA = ['keda-operator', 'keda-adapter', 'keda-webhooks']
const CLIENTS = ['kubectl', 'helm', 'helm3']

await runScript(async () => {
  const scripts = process.env.KUBE_LAB
  if (scripts === undefined) {
    return refuse('test:kube', 'KUBE_LAB is not set: it names the folder of up.sh and down.sh')
  }
  const programs = labPrograms()
  const missing = [
    ...missingIn(scripts, SCRIPTS),
    ...missingIn(programs, [...CONTROL_PLANE, ...KEDA, ...CLIENTS]),
  ]
  if (missing.length > 0) return refuse('test:kube', `these programs are missing: ${missing.join(', ')}`)
  checkPlatform()
  await ensureDependencies({ dev: true })
  process.env.KUBE_LAB_BIN = programs
  return await runAndCount(['--project', 'kube', ...process.argv.slice(2)])
})
