import { z } from 'zod'

/** The parts of the three interfaces that no model of this service reads, by their types. */
const NAMES = {
  image: 'a picture',
  image_url: 'a picture',
  input_image: 'a picture',
  document: 'a document',
  file: 'a file',
  input_file: 'a file',
  audio: 'a recording',
  audio_url: 'a recording',
  input_audio: 'a recording',
  video: 'a video',
  video_url: 'a video',
  input_video: 'a video',
} as const

const TYPES = Object.keys(NAMES).filter((type): type is keyof typeof NAMES => Object.hasOwn(NAMES, type))

/**
 * A picture, file or recording in the result of a tool. It is read as a sentence, not refused: the model chose to call
 * the tool, and no user can remove the result from the conversation.
 */
export const Attachment = z.looseObject({
  type: z.enum(TYPES).meta({ description: 'Read as a sentence that names what the model cannot read.' }),
})

export const toAttachmentText = ({ type }: z.output<typeof Attachment>): string =>
  `[${NAMES[type]} that this model cannot read]`
