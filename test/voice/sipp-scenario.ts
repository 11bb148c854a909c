import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { openCarrier } from '../../src/adapters/sip-gateway/testing.ts'
import { freePort, runProgram } from '../counterparts/program.ts'
import type { Platform } from '../platform.ts'
import { addTrunk } from './voice-fixture.ts'

// Scenarios of SIPp: each message that is sent, and each that must come, in their order.

export const sdp = `Content-Type: application/sdp
Content-Length: [len]

v=0
o=- 1 1 IN IP[local_ip_type] [local_ip]
s=-
c=IN IP[media_ip_type] [media_ip]
t=0 0
m=audio [media_port] RTP/AVP 0
a=rtpmap:0 PCMU/8000
`

const nothing = 'Content-Length: 0\n'

export const send = (text: string, body = nothing): string => `<send><![CDATA[\n${text.trim()}\n${body}\n]]></send>`

export const receive = (what: string, more = ''): string =>
  /^\d+$/.test(what) ? `<recv response="${what}" ${more}/>` : `<recv request="${what}" ${more}/>`

/** A response to the last request. */
export const reply = (status: string, headers = '', body = nothing): string =>
  send(
    `SIP/2.0 ${status}
[last_Via:]
[last_From:]
[last_To:];tag=[pid]far[call_number]
[last_Call-ID:]
[last_CSeq:]
Contact: <sip:carrier@[local_ip]:[local_port]>
${headers}`,
    body,
  )

export const runScenario = async (
  t: TestContext,
  steps: readonly string[],
  { port, target = [], calls = 1 }: { port: number; target?: readonly string[]; calls?: number },
) => {
  const folder = mkdtempSync(join(tmpdir(), 'sipp-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'scenario.xml')
  writeFileSync(
    file,
    `<?xml version="1.0" encoding="UTF-8" ?>\n<scenario name="test">\n${steps.join('\n')}\n</scenario>\n`,
  )
  const media = ['-mi', '127.0.0.1', '-mp', String(await freePort())]
  const fixed = ['-i', '127.0.0.1', '-p', String(port), '-nostdin', '-timeout', '60', '-timeout_error']
  return runProgram(t, ['sipp', '-sf', file, ...fixed, '-m', String(calls), ...media, ...target], folder)
}

/** A carrier that runs a scenario for each call, and is a trunk for a prefix. */
export const openScenarioTrunk = async (
  t: TestContext,
  platform: Platform,
  settings: object,
  steps: readonly string[],
) => {
  // SIPp would treat a ping as its only call and exit, so another responder answers the ping.
  const port = await freePort()
  const { agent } = await openCarrier(t, '127.0.0.1', port)
  await addTrunk(platform, { port, ...settings })
  await agent.close()
  const carrier = await runScenario(t, steps, { port })
  await carrier.listens(port, 'udp')
  return carrier
}
