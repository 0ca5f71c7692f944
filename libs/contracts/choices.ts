/*
 * A request may want several answers to its one prompt, its choices. Each choice is a generation of its own: it has a
 * record, a job and a stream, and it goes on with another worker if its worker is lost, whatever happens to the others.
 * The request has one hold and one settlement. Choice 0 has the request's id, so its record is the one that settles the
 * hold; the records of the other choices settle nothing.
 */

/** The most choices of a request. */
export const MAX_CHOICES = 8

/** Separates the id of a request from the number of a choice. `append_settlement` in `shared.lua` looks for it as well. */
const SEPARATOR = '+'

/** Returns the id of a choice's generation. */
export function toChoiceId(requestId: string, choice: number): string {
  return choice === 0 ? requestId : `${requestId}${SEPARATOR}${choice}`
}

/** Returns the id of the request, which is also the id of its reservation, from the id of any of its generations. */
export function toRequestId(generationId: string): string {
  const [requestId = generationId] = generationId.split(SEPARATOR)
  return requestId
}
