import { once } from 'node:events'
import type { Server } from 'node:net'
import { parseArgs } from 'node:util'
import { makeChatSimulator } from './chat/chat-simulator.ts'
import { controlServer } from './control.ts'
import { Faults } from './sms/faults.ts'
import { SmsNetwork } from './sms/sms-network.ts'
import { Smsc } from './sms/smsc.ts'
import { makeVoiceSimulator } from './voice/voice-simulator.ts'

// Messages of handsets must be readable only by the user who runs the simulator.
process.umask(0o077)

/**
 * Simulates a carrier network with handsets, for sandboxes and tests, on 127.0.0.1. Prints `{"smpp_port",
 * "control_port", "chat_port", "sip_port"}` on one line once it listens. Exits on SIGTERM, SIGINT or when standard
 * input closes, because its parent is gone then.
 */
const { values } = parseArgs({
  options: {
    home: { type: 'string' },
    'smpp-port': { type: 'string', default: '0' },
    'control-port': { type: 'string', default: '0' },
    'chat-port': { type: 'string', default: '0' },
    'sip-port': { type: 'string', default: '0' },
    'deliver-window': { type: 'string', default: '100' },
    'receipt-min-ms': { type: 'string', default: '200' },
    'receipt-max-ms': { type: 'string', default: '1000' },
    'receipt-tries': { type: 'string', default: '0' },
  },
})

const fail = (reason: string): never => {
  process.stderr.write(`${reason}\n`)
  process.exit(2)
}

const { SIMULATOR_PASSWORD: password = '', SIMULATOR_TOKEN: token = '' } = process.env
const home = values.home ?? fail('--home: the folder of the network state')
if (!/^[\x21-\x7e]{1,8}$/.test(password)) fail('SIMULATOR_PASSWORD: 1 to 8 characters (SMPP 3.4, 4.1.1)')
if (token.length < 16) fail('SIMULATOR_TOKEN: 16 characters or more')

const network = new SmsNetwork({
  home,
  deliverWindow: Number(values['deliver-window']),
  receiptMs: [Number(values['receipt-min-ms']), Number(values['receipt-max-ms'])],
  receiptTries: Number(values['receipt-tries']),
})
const faults = new Faults()
const smsc = new Smsc(network, faults, password)
const chat = makeChatSimulator(home, network, token, () => controlPort)
const voice = await makeVoiceSimulator(home, network, password, Number(values['sip-port']))
const control = controlServer({ network, smsc, faults, token, chat, voice })

const listen = async (server: Server, port: string): Promise<number> => {
  server.listen(Number(port), '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  return address && typeof address === 'object' ? address.port : 0
}

let controlPort = 0
const chatPort = await listen(chat.server.server, values['chat-port'])
const smppPort = await listen(smsc.server, values['smpp-port'])
controlPort = await listen(control, values['control-port'])

const stop = (): void => {
  smsc.close()
  chat.close()
  control.close()
  network.close()
  void voice.trunk.close().finally(() => process.exit(0))
}
process.once('SIGTERM', stop)
process.once('SIGINT', stop)
process.stdin.once('close', stop)
process.stdin.once('error', stop)
process.stdin.resume()

const ports = { smpp_port: smppPort, control_port: controlPort, chat_port: chatPort, sip_port: voice.trunk.port }
process.stdout.write(`${JSON.stringify(ports)}\n`)
