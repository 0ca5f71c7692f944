import { z } from 'zod'

export const CtlConfig = z.object({
  /** Where billing's operators' interface listens, such as http://127.0.0.1:8090. */
  MILLRACE_ADMIN_URL: z.string().optional(),
  MILLRACE_ADMIN_TOKEN: z.string().optional(),
  /** The state folder of `npm start`, whose cluster is asked unless told otherwise. */
  MILLRACE_HOME: z.string().optional(),
})
export type CtlConfig = z.infer<typeof CtlConfig>
