import { readdirSync, readFileSync } from 'node:fs'
import type { Pod, Release } from './release.ts'

/** Where the simulator of a worker's pod serves its faults, on loopback. */
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
 * Sends a signal to the engine's processes. These tests see those of all containers; a SIGKILL from inside of a container
 * would not reach its first process.
 */
export function signalEngine(pod: Pod, signal: 'SIGKILL' | 'SIGSTOP'): void {
  const id = engineOf(pod).containerID.replace(/^.*\/\//, '')
  const found = readdirSync('/proc').filter((name) => /^\d+$/.test(name) && cgroupsOf(name).includes(id))
  if (id === '' || found.length === 0) throw new Error(`${pod.metadata.name} has no process of its engine`)
  // The last one first: the end of the first one ends the others.
  for (const pid of found.map(Number).toSorted((a, b) => b - a)) process.kill(pid, signal)
}

function cgroupsOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cgroup`, 'utf8')
  } catch {
    // It has ended.
    return ''
  }
}

function containerOf(pod: Pod, states: Pod['status']['containerStatuses'], name: string) {
  const state = states.find((container) => container.name === name)
  if (state === undefined) throw new Error(`the pod ${pod.metadata.name} has no state of a container ${name}`)
  return state
}
