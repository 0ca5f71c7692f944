import { toHash } from './route.ts'

/** The fields of a form by name; a file is no text. */
export function readFields(form: HTMLFormElement): Record<string, string> {
  const entries = [...new FormData(form)].map(
    ([name, value]) => [name, typeof value === 'string' ? value.trim() : ''] as const,
  )
  return Object.fromEntries(entries)
}

/** Filters are in the address, so that a filtered list can be sent to somebody else. */
export function onFilter(path: readonly string[]): (event: SubmitEvent) => void {
  return (event) => {
    event.preventDefault()
    if (event.target instanceof HTMLFormElement) location.hash = toHash(path, readFields(event.target))
  }
}
