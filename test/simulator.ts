import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { TestContext } from 'node:test'
import { type ConcatenationMode, segment } from '@trunkline/phone/segments.ts'
import smpp, { type SmppPdu, type SmppSession } from 'smpp'
import { connectSmpp } from '../src/adapters/smpp/smpp-carrier.ts'
import type { SmppSettings } from '../src/adapters/smpp/smpp-settings.ts'
import { ignoreIntake } from '../src/adapters/smpp/testing.ts'
import type { SmsCarrier, SmsInbound, SmsReceipt } from '../src/ports/sms.ts'
import { preloadFlag } from './child.ts'

export const password = 'secret'
export const token = 'a token for this test'
export const ownNumber = '+447911123456'

export type Simulator = {
  smppPort: number
  chatPort: number
  sipPort: number
  child: ChildProcess
  call(method: string, path: string, body?: unknown): Promise<unknown>
}

/** The simulator as a process on that home, with fast receipts; killed at the end of the test. */
export const startSimulator = async (
  t: TestContext,
  home: string,
  flags: readonly string[] = [],
): Promise<Simulator> => {
  const main = join(import.meta.dirname, '../simulator/main.ts')
  const child = spawn(
    process.execPath,
    [preloadFlag, main, '--home', home, '--receipt-min-ms', '20', '--receipt-max-ms', '100', ...flags],
    {
      env: { ...process.env, SIMULATOR_PASSWORD: password, SIMULATOR_TOKEN: token },
      stdio: ['pipe', 'pipe', 'inherit'],
    },
  )
  t.after(() => child.kill('SIGKILL'))
  const [line] = await once(createInterface({ input: child.stdout }), 'line')
  const ports: { smpp_port: number; control_port: number; chat_port: number; sip_port: number } = JSON.parse(
    String(line),
  )
  return {
    smppPort: ports.smpp_port,
    chatPort: ports.chat_port,
    sipPort: ports.sip_port,
    child,
    call: async (method, path, body) => {
      const response = await fetch(`http://127.0.0.1:${ports.control_port}${path}`, {
        method,
        headers: { authorization: `Bearer ${token}` },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      })
      assert.ok(response.ok, `${method} ${path}: ${response.status}`)
      return response.json()
    },
  }
}

/** A folder that is removed with the test. */
export const makeSimulatorHome = async (t: TestContext): Promise<string> => {
  const path = await mkdtemp(join(tmpdir(), 'simulator-'))
  t.after(() => rm(path, { recursive: true, force: true }))
  return path
}

export const killSimulator = async ({ child }: Simulator): Promise<void> => {
  child.kill('SIGKILL')
  await once(child, 'exit')
}

/** A bound session of ours and everything it received. */
export type BoundSession = {
  carrier: SmsCarrier
  inbound: SmsInbound[]
  receipts: SmsReceipt[]
  until(condition: () => boolean): Promise<void>
}

/** Our session bound to the carrier at a port; inbound messages are acknowledged once `keep` resolves. */
export const bindSession = async (
  t: TestContext,
  port: number,
  fields: Partial<SmppSettings> = {},
  keep: () => Promise<void> = async () => {},
): Promise<BoundSession> => {
  const inbound: SmsInbound[] = []
  const receipts: SmsReceipt[] = []
  const waiting = new Set<() => void>()
  const changed = () => {
    for (const look of waiting) look()
  }
  const until = (condition: () => boolean) =>
    new Promise<void>((resolve) => {
      const look = () => {
        if (!condition()) return
        waiting.delete(look)
        resolve()
      }
      waiting.add(look)
      look()
    })
  const carrier = connectSmpp(
    { host: '127.0.0.1', port, system_id: 'platform', password, ...fields },
    {
      ...ignoreIntake,
      changed,
      inbound: async (message) => {
        await keep()
        inbound.push(message)
        changed()
      },
      receipt: async (receipt) => {
        receipts.push(receipt)
        changed()
      },
    },
  )
  t.after(() => carrier.close())
  await until(() => carrier.state().state === 'up')
  return { carrier, inbound, receipts, until }
}

/** The messages that the handset shows. */
export const handsetMessages = async (
  simulator: Simulator,
  number: string,
): Promise<{ direction: string; peer: string; text: string }[]> => {
  const seen = await simulator.call('GET', `/handsets/${encodeURIComponent(number)}`)
  assert.ok(typeof seen === 'object' && seen && 'sms' in seen && Array.isArray(seen.sms))
  return seen.sms.map(({ direction, peer, text }) => ({ direction, peer, text }))
}

let message = 0
/** Submits a message in its parts, one after the other. @returns their results */
export const submitAll = async (
  { carrier, until }: BoundSession,
  destination: string,
  text: string,
  long: ConcatenationMode = 'udh8',
) => {
  const { encoding, parts } = segment(text, long)
  const results = []
  message++
  for (const [index, piece] of parts.entries()) {
    await until(() => carrier.freeWindow() > 0)
    results.push(
      await carrier.submit({
        message: String(message),
        part: index + 1,
        parts: parts.length,
        source: ownNumber,
        destination,
        text: piece,
        encoding,
        reference: message & 0xff,
      }),
    )
  }
  return results
}

/** The carrier's id of an accepted part. */
export const carrierIdOf = (result: { outcome: string; carrierId?: string } | undefined): string => {
  assert.equal(result?.outcome, 'accepted')
  return result.carrierId ?? ''
}

/** Another implementation's client, bound. */
export const otherClient = async (t: TestContext, port: number): Promise<SmppSession> => {
  const session = smpp.connect({ host: '127.0.0.1', port })
  session.on('error', () => {})
  t.after(() => session.destroy())
  await once(session, 'connect')
  const answer = await new Promise<SmppPdu>((resolve) => {
    session.bind_transceiver({ system_id: 'other', password, interface_version: 0x34 }, resolve)
  })
  assert.equal(answer.command_status, 0)
  return session
}
