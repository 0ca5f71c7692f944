import { execFile } from 'node:child_process'

/** `repository:tag` of this repository's image on the node; scripts/test-node.mjs sets it. */
const IMAGE_VARIABLE = 'MILLRACE_TEST_IMAGE'

/** The limit of one call. A call of kubectl may wait for pods, and on a busy machine every call takes a second. */
const LIMIT_MS = 900_000

/** Runs kubectl and returns what it prints. Rejects with its messages. */
export const kubectl = async (args: readonly string[], input?: string): Promise<string> =>
  (await runProgram('kubectl', args, input)).trim()

/** Runs Helm and returns what it prints. Rejects with its messages. */
export const helm = async (args: readonly string[]): Promise<string> => await runProgram('helm', args)

/** Creates or changes objects. */
export async function applyObjects(...objects: readonly object[]): Promise<void> {
  const list = { apiVersion: 'v1', kind: 'List', items: objects }
  await kubectl(['apply', '--server-side', '-f', '-'], JSON.stringify(list))
}

/**
 * Runs a program of the lab; the tests run in the lab's namespaces, with its PATH. Rejects with the program's messages.
 */
export async function runProgram(program: string, args: readonly string[], input?: string): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  const options = { maxBuffer: 64 * 1024 * 1024, timeout: LIMIT_MS }
  const child = execFile(program, args, options, (error, stdout, stderr) => {
    if (error === null) resolve(stdout)
    else reject(new Error(`${program} ${args.join(' ')}: ${stderr}${stdout}`, { cause: error }))
  })
  child.stdin?.end(input)
  return await promise
}

/** Returns the image in the form of the chart's values. The pods run it from the node's own image store. */
export function appImage(): { repository: string; tag: string } {
  const image = process.env[IMAGE_VARIABLE]
  if (image === undefined)
    throw new Error(`${IMAGE_VARIABLE} is not set: start these tests by npm run test:node`)
  const at = image.lastIndexOf(':')
  return { repository: image.slice(0, at), tag: image.slice(at + 1) }
}
