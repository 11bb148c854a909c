import { runAlone } from '../alone.ts'
import { graphServer } from './server.ts'

/** The Graph API of a WhatsApp business account, for tests and laptops. */
const {
  SIMULATOR_ACCOUNT: account = '102030405060708',
  SIMULATOR_TOKEN: token = 'simulated-token',
  SIMULATOR_SECRET: secret = 'simulated-secret',
} = process.env
await runAlone(graphServer({ account, token, secret }))
