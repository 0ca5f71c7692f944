import { z } from 'zod'

/** The settings that `scripts/start.mjs` read from the command line and the environment. */
export const ClusterOptions = z.strictObject({
  host: z.string(),
  port: z.int(),
  /** Absolute path of the folder that contains all state. */
  home: z.string(),
  logLevel: z.string(),
  /** A real engine that serves the chat model in place of the simulator. */
  engine: z.strictObject({ address: z.string(), files: z.string() }).optional(),
  /** How long ago `npm start` began. */
  startedMsAgo: z.number(),
})
export type ClusterOptions = z.infer<typeof ClusterOptions>
