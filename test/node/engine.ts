import { readdirSync, readFileSync } from 'node:fs'
import type { Pod, Release } from './release.ts'

/** The address, on loopback, at which the simulator of a worker's pod takes its faults. */
const FAULTS_URL = 'http://127.0.0.1:9103/faults'

export const engineOf = (pod: Pod) => containerOf(pod, pod.status.initContainerStatuses, 'engine')
export const workerOf = (pod: Pod) => containerOf(pod, pod.status.containerStatuses, 'worker')

/** Changes the faults of the simulator in this pod, as its own container sees it. */
export async function setFaults(release: Release, pod: Pod, faults: object): Promise<void> {
  const body = JSON.stringify(JSON.stringify(faults))
  const script = `const answer = await fetch('${FAULTS_URL}', { method: 'POST', body: ${body} }); if (!answer.ok) throw new Error(await answer.text())`
  const node = ['node', '--input-type=module', '--eval', script]
  await release.kubectl(['exec', pod.metadata.name, '--container', 'engine', '--', ...node])
}

/**
 * Sends a signal to the engine's processes. The tests see the processes of all containers, so the signal comes from
 * outside: a SIGKILL from inside a container does not reach the container's first process.
 */
export function signalEngine(pod: Pod, signal: 'SIGKILL' | 'SIGSTOP'): void {
  const id = engineOf(pod).containerID.replace(/^.*\/\//, '')
  const found = readdirSync('/proc').filter((name) => /^\d+$/.test(name) && cgroupsOf(name).includes(id))
  if (id === '' || found.length === 0) throw new Error(`${pod.metadata.name} has no process of its engine`)
  // The newest process gets the signal first, because the end of the first process ends the others.
  for (const pid of found.map(Number).toSorted((a, b) => b - a)) process.kill(pid, signal)
}

function cgroupsOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cgroup`, 'utf8')
  } catch {
    // The process has ended.
    return ''
  }
}

function containerOf(pod: Pod, states: Pod['status']['containerStatuses'], name: string) {
  const state = states.find((container) => container.name === name)
  if (state === undefined) throw new Error(`the pod ${pod.metadata.name} has no state of a container ${name}`)
  return state
}
