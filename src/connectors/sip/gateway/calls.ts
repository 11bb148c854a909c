import type { VoicePerson, VoiceReceived } from '../../voice-port.ts'
import type { IncomingCall } from '../codec/dialog/incoming.ts'
import { callIdOf, fromOf, readNameAddr, toOf } from '../codec/fields.ts'
import { type Header, header, headersOf } from '../codec/message.ts'
import { type Telephone, telephoneOf } from '../codec/telephone.ts'
import type { Flow } from '../codec/transport/flow.ts'
import { Call, type Caller, type CallGround } from './call.ts'
import type { Ending } from './ending.ts'
import { fromTrunk } from './numbers.ts'
import { isBrowser, keyOf } from './parts.ts'
import { type Binding, identityOf } from './registrar.ts'
import type { Trunk } from './trunk.ts'

const mostHeaders = 20
/** How long the ends of the last calls may take to be written, ms. */
const mostWriting = 5_000
const ours = new Set(['x-device-gen', 'x-caller-id'])

/** Those that begin with X-, as far as they are the caller's own. */
const extras = ({ invite }: IncomingCall): Header[] =>
  invite.headers
    .filter(([name, value]) => /^x-/i.test(name) && !ours.has(name.toLowerCase()) && value.length <= 512)
    .slice(0, mostHeaders)

const userIn = (uri: string): string | null => telephoneOf(uri)?.user ?? null

/** The calls that are under way: takes new ones, and finds those that something happens to. */
export class Calls {
  private readonly ground: Omit<CallGround, 'gone'>
  private readonly open = new Set<Call>()
  private readonly released: (flow: Flow) => void
  private isClosing = false
  private emptied = () => {}

  constructor(ground: Omit<CallGround, 'gone'>, released: (flow: Flow) => void) {
    this.ground = ground
    this.released = released
  }

  get size(): number {
    return this.open.size
  }

  take(incoming: IncomingCall): Promise<void> {
    if (this.isClosing) incoming.refuse({ status: 503, reason: 'The server stops' })
    else if (isBrowser(incoming.flow)) return this.place(incoming)
    else return this.receive(incoming)
    return Promise.resolve()
  }

  over(flow: Flow): boolean {
    return [...this.open].some((call) => call.isOver(flow))
  }

  lost(flow: Flow): void {
    for (const call of this.open) call.lost(flow)
  }

  replaced(flow: Flow): void {
    for (const call of this.open) call.hunt?.replaced(flow)
  }

  arrived(binding: Binding): void {
    for (const call of this.open) call.hunt?.arrived(binding)
  }

  left(person: VoicePerson): void {
    for (const call of this.open) call.hunt?.left(person)
  }

  moved(from: Flow, to: Flow): void {
    for (const call of this.open) call.moved(from, to)
  }

  end(name: string, ending: Ending): void {
    for (const call of this.open) if (call.name === name) call.end(ending)
  }

  endOf(people: readonly VoicePerson[], ending: Ending): void {
    const keys = new Set(people.map(keyOf))
    for (const call of this.open) if (call.isOf(keys, keyOf)) call.end(ending)
  }

  /** Takes no new calls, and resolves when the last one is written down; those that last longer are ended. */
  async close(milliseconds: number): Promise<void> {
    this.isClosing = true
    if (this.open.size === 0) return
    const { timers } = this.ground.parts.agent
    const cut = () => {
      for (const call of this.open) call.end({ how: 'interrupted', status: 503, reason: 'The server stops', by: null })
    }
    const stop = milliseconds > 0 ? timers.after(milliseconds, cut) : cut
    // A desk that cannot write finds the rest when it starts again.
    await new Promise<void>((resolve) => {
      this.emptied = resolve
      timers.after(milliseconds + mostWriting, resolve)
      if (milliseconds === 0) cut()
    })
    stop()
  }

  /** From a browser: only one that is registered calls, and only as itself. */
  private async place(incoming: IncomingCall): Promise<void> {
    const { invite, flow } = incoming
    const { registrar, parts } = this.ground
    const binding = registrar.of(flow)
    const to = userIn(invite.uri)
    if (!binding) incoming.refuse({ status: 403, reason: 'Nobody is registered over this connection' })
    else if (identityOf(fromOf(invite)) !== binding.identity)
      incoming.refuse({ status: 403, reason: 'claims and SIP identity do not match' })
    else if (to === null) incoming.refuse({ status: 484 })
    else {
      const { person } = binding
      const headers = extras(incoming)
      const from = header(invite, 'X-Caller-Id')
      const placed = { person, to, from, headers: Object.fromEntries(headers), callId: callIdOf(invite) }
      await this.run({ incoming, trunk: null, person, headers, ask: () => parts.desk.place(placed) })
    }
  }

  private async receive(incoming: IncomingCall): Promise<void> {
    const { invite, flow } = incoming
    const { trunks, parts } = this.ground
    const trunk = trunks.of(invite, flow)
    if (!trunk) incoming.refuse({ status: 403 })
    else {
      const isFull = trunk.room <= 0
      const received = {
        ...{ trunk: trunk.settings.id, callId: callIdOf(invite), isFull },
        ...this.parties(incoming, trunk),
      }
      const ask = () => parts.desk.receive(received)
      if (!isFull) return this.run({ incoming, trunk, person: null, headers: [], ask })
      // At once, and as no call: who is turned away takes no channel while that is written down.
      incoming.refuse({ status: 503, reason: 'All Channels Are Taken' })
      await ask().catch(parts.fault)
    }
  }

  private parties(
    { invite }: IncomingCall,
    { settings }: Trunk,
  ): Pick<VoiceReceived, 'from' | 'to' | 'name' | 'verstat' | 'npdi' | 'rn'> {
    const shown = fromOf(invite)
    const [asserted] = headersOf(invite, 'P-Asserted-Identity')
    const identity = asserted === undefined ? null : identityIn(asserted)
    const from = telephoneOf(shown.uri)
    const caller = identity?.user ?? from?.user ?? ''
    const dialled = telephoneOf(invite.uri)
    const asked = dialled?.user ?? null
    // Who registers is called by the name of his contact; the number stands in To.
    const to = asked !== null && /\d{3}/.test(asked) ? asked : (userIn(toOf(invite).uri) ?? asked ?? '')
    return {
      ...{ from: fromTrunk(settings, caller), to: fromTrunk(settings, to), name: shown.name || null },
      verstat: identity?.verstat ?? from?.verstat ?? null,
      ...{ npdi: dialled?.npdi ?? false, rn: dialled?.rn ?? null },
    }
  }

  private async run(caller: Caller): Promise<void> {
    const call = new Call({ ...this.ground, gone: () => this.forget(call, caller) }, caller)
    this.open.add(call)
    await call.run()
  }

  private forget(call: Call, { incoming }: Caller): void {
    if (!this.open.delete(call)) return
    this.released(incoming.flow)
    for (const flow of call.flows) this.released(flow)
    if (this.open.size === 0) this.emptied()
  }
}

/** The number of an asserted identity (RFC 3325); null when it is none. */
const identityIn = (value: string): Telephone | null => {
  try {
    return telephoneOf(readNameAddr(value.split(',')[0] ?? '').uri)
  } catch {
    return null
  }
}
