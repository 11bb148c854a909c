import assert from 'node:assert/strict'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { needsData } from '../../../../test/needs.ts'
import type { SipSessionEvents } from '../dialog/sip-session.ts'
import type { SipMessage, SipRequest, SipResponse } from '../message.ts'
import { parseMessage } from '../parse.ts'
import { printMessage } from '../print.ts'
import type { Timers } from '../timers.ts'
import { openTcp } from '../transport/tcp.ts'
import { openUdp } from '../transport/udp.ts'
import { UserAgent, type UserAgentHandlers, type UserAgentSettings } from './user-agent.ts'

/** The torture messages of RFC 4475 from reSIProcate's stack tests; this repository contains no copy. */
const tortureFolder = join(import.meta.dirname, '../../../../../shared/data/rfc4475')
const folder = existsSync(tortureFolder) ? tortureFolder : null

export const needsTorture = needsData(folder, 'the messages of RFC 4475 in ../shared/data/rfc4475')

/** By their names in the RFC. */
export const tortureMessages = (): Map<string, Buffer> =>
  new Map(
    (folder === null ? [] : readdirSync(folder))
      .filter((file) => file.endsWith('.dat'))
      .map((file) => [file.slice(0, -4), readFileSync(join(tortureFolder, file))]),
  )

/** Converts line feeds to CRLF. */
export const octets = (text: string): Buffer => Buffer.from(text.replace(/\r?\n/g, '\r\n'))

/** Parses a message that must be valid. */
export const readMessage = (text: string | Buffer): SipMessage => {
  const message = parseMessage(typeof text === 'string' ? octets(text) : text)
  assert.ok(message.kind !== 'malformed', message.kind === 'malformed' ? message.reason : '')
  return message
}

export const readRequest = (text: string | Buffer): SipRequest => {
  const message = readMessage(text)
  assert.ok(message.kind === 'request')
  return message
}

export const readResponse = (text: string | Buffer): SipResponse => {
  const message = readMessage(text)
  assert.ok(message.kind === 'response')
  return message
}

/** An INVITE with many kinds of headers. */
export const invite = `INVITE sip:+33612345678@carrier.test;user=phone SIP/2.0
Via: SIP/2.0/UDP 192.0.2.1:5060;rport;branch=z9hG4bKa1, SIP/2.0/TLS [2001:db8::1]:5061;branch=z9hG4bKa0
v: SIP/2.0/WSS df7jal23ls0d.invalid;branch=z9hG4bK00
Max-Forwards: 68
f: "Ann \\"A\\" Bee, Ltd" <sip:+33187654321@us.test>;tag=abc
To: <sip:+33612345678@carrier.test;user=phone>
i: 3848276298220188511@us.test
CSeq: 42 INVITE
m: <sip:us@192.0.2.1:5060;transport=udp;lr>;expires=60;+sip.instance="<urn:uuid:0-1>"
Record-Route: <sip:p1.test;lr>, <sip:p2.test:5070;lr>
k: timer, 100rel
x: 1800;refresher=uac
Min-SE: 90
Allow: INVITE, ACK, BYE
Subject: one
  line more
c: application/sdp
l: 4

v=0
`

/** A clock that advances only on request. */
export class ManualTimers implements Timers {
  private time = 0
  private readonly due = new Set<{ readonly at: number; run(): void }>()

  now(): number {
    return this.time
  }

  after(milliseconds: number, run: () => void): () => void {
    const one = { at: this.time + milliseconds, run }
    this.due.add(one)
    return () => this.due.delete(one)
  }

  get waiting(): number {
    return this.due.size
  }

  /** Advances the clock and runs the due callbacks in order. */
  advance(milliseconds: number): void {
    const until = this.time + milliseconds
    for (;;) {
      const [next] = [...this.due].filter(({ at }) => at <= until).sort((a, b) => a.at - b.at)
      if (!next) break
      this.due.delete(next)
      this.time = Math.max(this.time, next.at)
      next.run()
    }
    this.time = until
  }
}

/** Turns of the event loop before polling slows down: most conditions hold sooner. */
const fastTurns = 100

/** Waits until a condition holds, at most a minute: a loaded machine takes many times as long as a quiet one. */
export const until = async <T>(
  check: () => T | null | undefined | false | Promise<T | null | undefined | false>,
  what = 'what was awaited',
): Promise<T> => {
  const deadline = performance.now() + 60_000
  for (let turn = 0; ; turn++) {
    const found = await check()
    if (found) return found
    if (performance.now() > deadline) throw new Error(`${what} did not happen`)
    await new Promise((resolve) => (turn < fastTurns ? setImmediate(resolve) : setTimeout(resolve, 10)))
  }
}

/** A UDP peer that sends what a test says and collects what it receives. */
export const openPeer = async (t: TestContext) => {
  const socket = createSocket('udp4')
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  t.after(() => socket.close())
  const heard: SipMessage[] = []
  socket.on('message', (got) => heard.push(readMessage(got)))
  return {
    port: socket.address().port,
    heard,
    send: (text: string | Buffer | SipMessage, port: number) =>
      socket.send(
        typeof text === 'string' ? octets(text) : Buffer.isBuffer(text) ? text : printMessage(text),
        port,
        '127.0.0.1',
      ),
    /** The next received message. */
    next: () => until(() => heard.shift(), 'a message to the peer'),
  }
}

export const defaultHandlers: UserAgentHandlers = {
  onInvite: (call) => call.refuse({ status: 480 }),
  onError: (error) => assert.fail(String(error)),
}

/** A user agent on loopback with UDP and TCP, and its ports. */
export const openAgent = async (
  t: Pick<TestContext, 'after'>,
  {
    address = '127.0.0.1',
    port = 0,
    ...settings
  }: Partial<UserAgentSettings> & { address?: string; port?: number } = {},
) => {
  const agent = new UserAgent({ handlers: defaultHandlers, name: 'trunkline-test', user: 'us', ...settings })
  t.after(() => agent.close())
  const where = { address, port }
  const udp = agent.transports.add(await openUdp(where, agent.transports))
  const tcp = agent.transports.add(await openTcp(where, agent.transports, agent.timers))
  return { agent, udp: udp.sentBy.port ?? 0, tcp: tcp.sentBy.port ?? 0 }
}

/** Lets pending socket traffic arrive. */
export const settleSockets = async (): Promise<void> => {
  for (let turn = 0; turn < 200; turn++) await new Promise((resolve) => setImmediate(resolve))
}

export const noSessionEvents: SipSessionEvents = {
  offered: () => ({ status: 488 }),
  acknowledged: () => {},
  info: () => ({ status: 200 }),
  ended: () => {},
}

/** A request of the peer over UDP. */
export const requestText = (
  method: string,
  port: number,
  more = '',
  { branch = 'z9hG4bKt1', to = '<sip:us@127.0.0.1>', cseq = 7, callId = 'a@peer', contact = 5999 } = {},
) =>
  `${method} sip:us@127.0.0.1:${port} SIP/2.0
Via: SIP/2.0/UDP 127.0.0.1:5999;rport;branch=${branch}
Max-Forwards: 70
From: <sip:peer@127.0.0.1>;tag=peer
To: ${to}
Call-ID: ${callId}
CSeq: ${cseq} ${method}
Contact: <sip:peer@127.0.0.1:${contact}>
${more}Content-Length: 0

`
