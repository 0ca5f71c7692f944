import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createKubernetesClient, type KubernetesClient } from '#libs/kubernetes/kubernetes-client.ts'

/** The environment variable that names the file with an administrator's token. */
export const TOKEN_VARIABLE = 'MILLRACE_TEST_KUBE_TOKEN'

/** The limit of one call of kubectl or Helm. On a busy machine, a call takes seconds. */
const PROGRAM_LIMIT_MS = 120_000

/** Runs the lab's kubectl and returns what it prints. Rejects with its messages. */
export async function kubectl(args: readonly string[], input?: string): Promise<string> {
  return (await runProgram('kubectl', args, input)).stdout.trim()
}

/** Creates or changes objects. */
export async function applyObjects(...objects: readonly object[]): Promise<void> {
  const list = { apiVersion: 'v1', kind: 'List', items: objects }
  await kubectl(['apply', '--server-side', '-f', '-'], JSON.stringify(list))
}

/** Runs one of the lab's programs against its cluster. Rejects with its messages. */
export async function runProgram(
  program: string,
  args: readonly string[],
  input?: string,
): Promise<{ stdout: string; stderr: string }> {
  const env = { ...process.env, KUBECONFIG: join(stateFolder(), 'kubeconfig') }
  const { promise, resolve, reject } = Promise.withResolvers<{ stdout: string; stderr: string }>()
  const child = execFile(
    join(fromEnvironment('KUBE_LAB_BIN'), program),
    args,
    { env, maxBuffer: 64 * 1024 * 1024, timeout: PROGRAM_LIMIT_MS },
    (error, stdout, stderr) => {
      if (error === null) resolve({ stdout, stderr })
      else reject(new Error(`${program} ${args.join(' ')}: ${stderr}`, { cause: error }))
    },
  )
  child.stdin?.end(input)
  return await promise
}

/** Returns the URL and the CA file with which a process outside a pod reaches the API server. */
export function clusterPlace(): { url: string; caFile: string } {
  const kubeconfig = readFileSync(join(stateFolder(), 'kubeconfig'), 'utf8')
  const url = /server: "?(https:[^\s",]+)/.exec(kubeconfig)?.[1]
  if (url === undefined) throw new Error('the kubeconfig of the lab names no server')
  return { url, caFile: join(stateFolder(), 'pki/ca.crt') }
}

/** Returns a client with the rights of the token in a file, by default with all rights. The caller closes it. */
export function connectCluster(tokenFile: string = fromEnvironment(TOKEN_VARIABLE)): KubernetesClient {
  const { url, caFile } = clusterPlace()
  return createKubernetesClient({ url, ca: readFileSync(caFile, 'utf8'), tokenFile })
}

const stateFolder = () => fromEnvironment('KUBE_LAB_STATE')

function fromEnvironment(name: string): string {
  const value = process.env[name]
  if (value === undefined) throw new Error(`${name} is not set: start these tests by npm run test:kube`)
  return value
}
