import { toHash } from './route.ts'

/** Returns a form's fields by name. A file counts as empty text. */
export function readFields(form: HTMLFormElement): Record<string, string> {
  const entries = [...new FormData(form)].map(
    ([name, value]) => [name, typeof value === 'string' ? value.trim() : ''] as const,
  )
  return Object.fromEntries(entries)
}

/** Handles a form of filters: puts them into the address, so that a filtered list can be sent to somebody else. */
export function onFilter(path: readonly string[]): (event: SubmitEvent) => void {
  return (event) => {
    event.preventDefault()
    if (event.target instanceof HTMLFormElement) location.hash = toHash(path, readFields(event.target))
  }
}
