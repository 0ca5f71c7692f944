import { EventSourceParserStream, type EventSourceMessage } from 'eventsource-parser/stream'

/** Returns the server-sent events of a response (https://html.spec.whatwg.org/#event-stream-interpretation). */
export function readEvents(
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
): ReadableStream<EventSourceMessage> {
  return body.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream())
}
