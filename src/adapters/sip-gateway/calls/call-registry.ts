import { canonicalNumber } from '@trunkline/phone/number-forms.ts'
import { callerOf, diversionOf } from '@trunkline/sip/caller-identity.ts'
import type { IncomingCall } from '@trunkline/sip/dialog/incoming-call.ts'
import { callIdOf, fromOf, toOf } from '@trunkline/sip/fields.ts'
import { type Header, header } from '@trunkline/sip/message.ts'
import { telephoneNumberOf } from '@trunkline/sip/telephone-number.ts'
import type { Flow } from '@trunkline/sip/transport/flow.ts'
import type { VoiceCodeEntry, VoiceInboundCall, VoicePlan, VoiceProgram, VoiceUser } from '../../../ports/voice.ts'
import { type Binding, identityOf } from '../browsers/registrar.ts'
import { isBrowser, isLocal, personKey } from '../gateway-deps.ts'
import { maxExtraHeaders, maxPersistMs } from '../limits.ts'
import { fromTrunkNumber } from '../trunks/number-format.ts'
import type { Trunk } from '../trunks/trunk.ts'
import { ActiveCall, type CallBehaviour, type CallDeps, type CallOrigin } from './active-call.ts'
import { Bridge } from './bridge.ts'
import type { Caller } from './caller.ts'
import { CodeEntry } from './code-entry.ts'
import type { HangupCause } from './hangup-cause.ts'
import { hopsHeader, ownCallHeader } from './hops.ts'
import { ProgramLine } from './program-line.ts'

const serverStopping: HangupCause = { how: 'interrupted', status: 503, reason: 'The server stops', by: null }
const reservedHeaders = new Set(['x-device-gen', 'x-caller-id'])

/** The caller's own X- headers. */
const extraHeaders = ({ invite }: IncomingCall): Header[] =>
  invite.headers
    .filter(([name, value]) => /^x-/i.test(name) && !reservedHeaders.has(name.toLowerCase()) && value.length <= 512)
    .slice(0, maxExtraHeaders)

const userOfUri = (uri: string): string | null => telephoneNumberOf(uri)?.user ?? null

const isSame = (a: string, b: string): boolean => canonicalNumber(a) === canonicalNumber(b)

/** All active calls: accepts new ones, and forwards events to the calls they concern. */
export class CallRegistry {
  private readonly deps: CallDeps
  private readonly active = new Set<ActiveCall>()
  private readonly released: (flow: Flow) => void
  private isClosing = false
  private onEmpty = () => {}

  constructor(deps: CallDeps, released: (flow: Flow) => void) {
    this.deps = deps
    this.released = released
  }

  get size(): number {
    return this.active.size
  }

  handleInvite(incoming: IncomingCall): Promise<void> {
    if (this.isClosing) incoming.refuse({ status: 503, reason: 'The server stops' })
    else if (isLocal(incoming.flow)) return this.receiveOwn(incoming)
    else if (isBrowser(incoming.flow)) return this.placeFromBrowser(incoming)
    else return this.receiveFromTrunk(incoming)
    return Promise.resolve()
  }

  async dial(plan: VoicePlan, entry: VoiceCodeEntry): Promise<void> {
    await this.place(plan, (call) => new CodeEntry(call, entry)).run()
  }

  async run(plan: VoicePlan & { readonly program: VoiceProgram }): Promise<void> {
    await this.place(plan, (call) => this.runProgram(call, plan, plan.program)).run()
  }

  usesFlow(flow: Flow): boolean {
    return [...this.active].some((call) => call.usesFlow(flow))
  }

  connectionLost(flow: Flow): void {
    for (const call of this.active) call.connectionLost(flow)
  }

  replaced(flow: Flow): void {
    for (const call of this.active) call.forking?.replaced(flow)
  }

  arrived(binding: Binding): void {
    for (const call of this.active) call.forking?.arrived(binding)
  }

  left(person: VoiceUser): void {
    for (const call of this.active) call.forking?.left(person)
  }

  connectionMoved(from: Flow, to: Flow): void {
    for (const call of this.active) call.connectionMoved(from, to)
  }

  hangUp(name: string, reason: string, how: 'operator' | 'canceled' | 'completed'): void {
    for (const call of this.active) {
      if (call.callId !== name) continue
      if (how === 'operator') call.end({ how, status: 487, reason, by: null })
      else if (call.isTalking) call.end({ how: 'completed', status: 200, reason, by: null })
      else call.end({ how: 'canceled', status: 487, reason, by: null })
    }
  }

  endCallsOf(people: readonly VoiceUser[], ending: HangupCause): void {
    const keys = new Set(people.map(personKey))
    for (const call of this.active) if (call.involves(keys, personKey)) call.end(ending)
  }

  endCallsOfAccounts(accounts: ReadonlySet<string>, ending: HangupCause): void {
    for (const call of this.active) if (call.account !== null && accounts.has(call.account)) call.end(ending)
  }

  /** Accepts no new calls and resolves when the end of the last one is persisted. Calls that last longer are ended. */
  async close(milliseconds: number): Promise<void> {
    this.isClosing = true
    if (this.size === 0) return
    const { timers } = this.deps.gateway.agent
    const cut = () => {
      for (const call of this.active) call.end(serverStopping)
    }
    const stop = milliseconds > 0 ? timers.after(milliseconds, cut) : cut
    // If an end could not be persisted, call control finds the call at its next start.
    await new Promise<void>((resolve) => {
      this.onEmpty = resolve
      timers.after(milliseconds + maxPersistMs, resolve)
      if (milliseconds === 0) cut()
    })
    stop()
  }

  /** A call from a browser: the user must be registered and may only call as itself. */
  private async placeFromBrowser(incoming: IncomingCall): Promise<void> {
    const { invite, flow } = incoming
    const { registrar, gateway } = this.deps
    const binding = registrar.bindingOf(flow)
    const to = userOfUri(invite.uri)
    if (!binding) incoming.refuse({ status: 403, reason: 'No user is registered over this connection' })
    else if (identityOf(fromOf(invite)) !== binding.identity)
      incoming.refuse({ status: 403, reason: 'claims and SIP identity do not match' })
    else if (to === null) incoming.refuse({ status: 484 })
    else {
      const { person } = binding
      const headers = extraHeaders(incoming)
      const from = header(invite, 'X-Caller-Id')
      const placed = { person, to, from, headers: Object.fromEntries(headers), callId: callIdOf(invite) }
      await this.connect({ incoming, trunk: null, person, headers, isWithheld: false }, () =>
        gateway.callControl.placeCall(placed),
      )
    }
  }

  private async receiveFromTrunk(incoming: IncomingCall): Promise<void> {
    const { invite, flow } = incoming
    const { trunks, gateway } = this.deps
    const trunk = trunks.identify(invite, flow)
    if (!trunk) incoming.refuse({ status: 403 })
    else {
      const isFull = trunk.freeChannels <= 0
      const received = {
        ...{ trunk: trunk.settings.id, callId: callIdOf(invite), isFull },
        ...this.parties(incoming, trunk),
      }
      const isWithheld = received.from === null
      const ask = () => gateway.callControl.receiveCall(received)
      if (!isFull) return this.connect({ incoming, trunk, person: null, headers: [], isWithheld }, ask)
      // Refused at once and not counted as a call: it must use no channel while the refusal is persisted.
      incoming.refuse({ status: 503, reason: 'All Channels Are Taken' })
      await ask().catch(gateway.onError)
    }
  }

  /** A call of ours to a number of the same account. */
  private async receiveOwn(incoming: IncomingCall): Promise<void> {
    const { invite } = incoming
    const name = header(invite, ownCallHeader)
    const own = [...this.active].find(({ callId }) => callId === name)
    if (!own?.callId) return incoming.refuse({ status: 481 })
    const received = { call: own.callId, callId: callIdOf(invite), from: userOfUri(fromOf(invite).uri) }
    const caller = { incoming, trunk: null, person: null, headers: [], isWithheld: false }
    const side = this.addIncoming(caller, () => this.deps.gateway.callControl.receiveOwnCall(received))
    own.otherSide = side
    side.otherSide = own
    await side.run()
  }

  private parties(
    { invite }: IncomingCall,
    { settings }: Trunk,
  ): Omit<VoiceInboundCall, 'trunk' | 'callId' | 'isFull'> {
    const caller = callerOf(invite)
    const numberOf = (number: string) => fromTrunkNumber(settings, number)
    const asserted = caller.number === '' ? null : numberOf(caller.number)
    const isShown = asserted !== null && !caller.isWithheld
    const diversion = diversionOf(invite)
    const former = diversion === null ? null : numberOf(diversion)
    const isConcealed = former !== null && asserted !== null && !isShown && isSame(former, asserted)
    const dialled = telephoneNumberOf(invite.uri)
    const user = dialled?.user ?? null
    // A registering trunk is called by the user part of its Contact; the dialled number is in To.
    const to = user !== null && /\d{3}/.test(user) ? user : (userOfUri(toOf(invite).uri) ?? user ?? '')
    return {
      ...{ from: isShown ? asserted : null, asserted: isShown ? null : asserted },
      ...{ to: numberOf(to), name: caller.name, verstat: caller.verstat },
      // Some carriers repeat the withheld caller as the number that forwarded the call.
      divertedFrom: isConcealed ? null : former,
      ...{ npdi: dialled?.npdi ?? false, rn: dialled?.rn ?? null },
      hops: Math.min(99, Number(/^\d+$/.exec(header(invite, hopsHeader) ?? '')?.[0] ?? 0)),
    }
  }

  private async connect(caller: Caller, requestPlan: CallOrigin['requestPlan']): Promise<void> {
    await this.addIncoming(caller, requestPlan).run()
  }

  private addIncoming(caller: Caller, requestPlan: CallOrigin['requestPlan']): ActiveCall {
    const behaviourOf: CallOrigin['behaviourOf'] = (call, plan) =>
      plan.program ? this.runProgram(call, plan, plan.program) : new Bridge(call, caller, plan)
    return this.add({ caller, requestPlan, behaviourOf })
  }

  private runProgram(call: ActiveCall, plan: VoicePlan, program: VoiceProgram): ProgramLine {
    return new ProgramLine(call, plan, program, (child, behaviourOf) => this.place(child, behaviourOf))
  }

  /** Adds a call that the platform places. */
  private place(plan: VoicePlan, behaviourOf: (call: ActiveCall) => CallBehaviour): ActiveCall {
    const call = this.add({ caller: null, call: plan.call, requestPlan: async () => ({ value: plan }), behaviourOf })
    if (this.isClosing) call.end(serverStopping)
    return call
  }

  private add(origin: CallOrigin): ActiveCall {
    const call = new ActiveCall(this.deps, origin, () => this.remove(call))
    this.active.add(call)
    return call
  }

  private remove(call: ActiveCall): void {
    if (!this.active.delete(call)) return
    if (call.caller) this.released(call.caller.incoming.flow)
    for (const flow of call.flows) this.released(flow)
    if (this.size === 0) this.onEmpty()
  }
}
