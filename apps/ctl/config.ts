import { z } from 'zod'

export const CtlConfig = z.object({
  /** The address of billing's admin interface, such as http://127.0.0.1:8090. */
  MILLRACE_ADMIN_URL: z.string().optional(),
  MILLRACE_ADMIN_TOKEN: z.string().optional(),
  /** The address of the console, such as https://console.example.org. */
  MILLRACE_CONSOLE_URL: z.string().optional(),
  /**
   * The cell and the address of its bus. The variables are the same as for workers. Only a command that needs the bus
   * checks their values.
   */
  CELL: z.string().optional(),
  BUS_REDIS_MODE: z.string().optional(),
  BUS_REDIS_URL: z.string().optional(),
  BUS_REDIS_SENTINELS: z.string().optional(),
  BUS_REDIS_SENTINEL_PASSWORD: z.string().optional(),
  /** A gateway's address, including /v1, and an API key: for `chat`. */
  OPENAI_BASE_URL: z.string().optional(),
  OPENAI_API_KEY: z.string().optional(),
  /** If set, nothing is styled (no-color.org). */
  NO_COLOR: z.string().optional(),
  /** The state folder of `npm start`, whose cluster is the default. */
  MILLRACE_HOME: z.string().optional(),
})
export type CtlConfig = z.infer<typeof CtlConfig>
