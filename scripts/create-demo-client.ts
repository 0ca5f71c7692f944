// The bootstrap of deploy/compose.yaml: creates a demo account with credits and a key, once, and prints a curl line.
import { z } from 'zod'
import { loadConfig } from '#libs/config/load-config.ts'
import { createClient } from './cluster/create-client.ts'
import { curlLine } from './cluster/gateway-address.ts'

const Config = z.object({
  ADMIN_URL: z.url(),
  ADMIN_TOKEN: z.string(),
  /** The gateway's address in the printed line, for a user outside of the containers. */
  GATEWAY_URL: z.url(),
  /** The folder that keeps the account and the key for the next run. */
  CLIENT_FOLDER: z.string(),
})

const config = loadConfig(Config, process.env)
const key = await createClient({
  home: config.CLIENT_FOLDER,
  adminUrl: config.ADMIN_URL,
  adminToken: config.ADMIN_TOKEN,
  baseUrl: `${config.GATEWAY_URL}/v1`,
})
console.log(curlLine({ url: config.GATEWAY_URL, key }))
