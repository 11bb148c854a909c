import type { MediaCodec, MediaEvents } from '../../port.ts'
import type { VoiceAsked, VoicePerson, VoicePlan, VoiceTarget } from '../../voice-port.ts'
import type { IncomingCall } from '../codec/dialog/incoming.ts'
import { callIdOf } from '../codec/fields.ts'
import type { Header } from '../codec/message.ts'
import { phraseOf } from '../codec/reply.ts'
import type { Flow } from '../codec/transport/flow.ts'
import { type Ending, failed, hungUp, ofDesk, ofMedia, veiled } from './ending.ts'
import { type Found, Hunt } from './hunt.ts'
import { Meter } from './meter.ts'
import { type Parts, returnMs } from './parts.ts'
import type { Registrar } from './registrar.ts'
import { described, Side, type SideEvents } from './side.ts'
import type { Story, Timelines } from './timeline.ts'
import type { Trunk } from './trunk.ts'
import type { Trunks } from './trunks.ts'

export type CallGround = {
  readonly parts: Parts
  readonly registrar: Registrar
  readonly trunks: Trunks
  readonly timelines: Timelines
  /** The call is over, and the desk knows it. */
  gone(call: Call): void
}

/** Who calls. */
export type Caller = {
  readonly incoming: IncomingCall
  readonly trunk: Trunk | null
  readonly person: VoicePerson | null
  readonly headers: readonly Header[]
  /** Asks the desk what shall become of it. */
  ask(): Promise<VoiceAsked<VoicePlan>>
}

/** Of a call between browsers that is not recorded; all others are G.711. */
const wide: readonly MediaCodec[] = ['opus', 'pcmu', 'pcma']
const narrow: readonly MediaCodec[] = ['pcmu', 'pcma']

/** One call, from its INVITE until the desk knows of its end (a B2BUA: RFC 7092). */
export class Call {
  /** Looks for somebody who answers; null before. */
  hunt: Hunt | null = null
  private readonly ground: CallGround
  private readonly caller: Caller
  private readonly story: Story
  private plan: VoicePlan | null = null
  private meter: Meter | null = null
  private sides: readonly Side[] = []
  private ending: Ending | null = null
  private answeredBy: VoiceTarget | null = null
  /** That it was answered: its end is written down after that. */
  private written: Promise<unknown> = Promise.resolve()
  /** Give the channels back that it takes of trunks. */
  private readonly releases: (() => void)[]
  private readonly timers = new Map<string, () => void>()
  private rungFor: Promise<unknown> = Promise.resolve()

  constructor(ground: CallGround, caller: Caller) {
    this.ground = ground
    this.caller = caller
    this.story = ground.timelines.begin()
    const { incoming, trunk } = caller
    ground.timelines.follow(this.story, callIdOf(incoming.invite), 'caller')
    this.story.tell({ leg: 'caller', what: 'sip_in', text: `INVITE ${incoming.invite.uri}` })
    this.releases = trunk ? [trunk.load.take()] : []
    incoming.events = {
      cancelled: () => this.end({ how: 'canceled', status: 487, reason: 'The caller hung up', by: 'caller' }),
    }
  }

  /** The name of the call at the desk, once it has one. */
  get name(): string | null {
    return this.plan?.call ?? null
  }

  /** The connections of its browsers. */
  get flows(): readonly Flow[] {
    const [caller, ...others] = this.sides
    return [caller?.flow ?? this.caller.incoming.flow, ...others.flatMap(({ flow }) => flow ?? [])]
  }

  isOver(flow: Flow): boolean {
    return this.flows.some(({ id }) => id === flow.id)
  }

  isOf(people: ReadonlySet<string>, key: (person: VoicePerson) => string): boolean {
    const own = [this.caller.person, ...this.sides.map(({ person }) => person)]
    return own.some((person) => person !== null && people.has(key(person)))
  }

  async run(): Promise<void> {
    try {
      await this.begin()
    } catch (error) {
      this.ground.parts.fault(error)
      this.end(failed(500, 'Something went wrong on our side'))
    }
    // The desk has no plan for it, and need not hear of its end.
    if (!this.meter) this.leave()
  }

  /** Ends it, for whatever reason comes first. */
  end(ending: Ending): void {
    if (this.ending) return
    this.ending = ending
    for (const stop of this.timers.values()) stop()
    this.hunt?.cancel()
    const { incoming } = this.caller
    const status = ending.status >= 400 ? ending.status : 480
    // A quotation mark or a line feed would end the header.
    const reason = (ending.isVeiled ? phraseOf(status) : ending.reason).replace(/[^\w +.,:;()'/-]/g, ' ').slice(0, 120)
    incoming.refuse({ status, reason })
    const why = [['Reason', `SIP;cause=${ending.status || 200};text="${reason}"`]] as const
    for (const { session } of this.sides) void session?.bye({ headers: why })
    this.meter?.stop()
    if (this.meter) void this.conclude(this.meter, ending)
  }

  /** A browser's connection broke: the call goes on for a while. */
  lost(flow: Flow): void {
    if (!this.isOver(flow) || this.ending) return
    const side = this.sides.find((one) => one.flow?.id === flow.id)
    if (this.answeredBy === null) {
      if (this.caller.trunk === null && this.caller.incoming.flow.id === flow.id)
        this.end({ how: 'canceled', status: 487, reason: 'The connection of the caller broke', by: 'caller' })
    } else if (side) {
      this.note(side, 'the connection broke')
      this.after(`lost ${side.name}`, returnMs, () =>
        this.end({ how: 'interrupted', status: 408, reason: 'The browser did not come back', by: side.name }),
      )
    }
  }

  moved(from: Flow, to: Flow): void {
    for (const side of this.sides) {
      if (side.flow?.id !== from.id) continue
      this.timers.get(`lost ${side.name}`)?.()
      side.move(to)
      this.note(side, 'the connection is back')
    }
  }

  private async begin(): Promise<void> {
    const asked = await this.caller.ask()
    if ('refused' in asked) {
      this.end(ofDesk(asked.refused))
      return
    }
    this.plan = asked.value
    this.story.name(asked.value.call)
    this.meter = new Meter(this.ground.parts, asked.value, (ending) => this.end(ending))
    if (this.ending) await this.conclude(this.meter, this.ending)
    else await this.search(asked.value, this.meter)
  }

  private async search(plan: VoicePlan, meter: Meter): Promise<void> {
    const opened = await this.ground.parts.media.openCall(this.mediaEvents())
    if (opened.outcome === 'refused') return this.end(ofMedia(opened))
    meter.media = opened.value
    // It was taken back meanwhile, and the end did not know of the media.
    if (this.ending) return opened.value.close()
    const { incoming, trunk, person, headers } = this.caller
    const codecs = trunk || plan.record !== null || plan.targets.some((target) => 'trunk' in target) ? narrow : wide
    const added = await opened.value.addLeg({
      ...{ id: 'caller', kind: trunk ? 'rtp' : 'webrtc', codecs: trunk?.settings.codecs ?? codecs },
      srtp: trunk?.settings.srtp ?? 'never',
      offer: incoming.invite.body.length > 0 ? incoming.invite.body.toString() : null,
      ...(trunk ? { source: incoming.flow.address } : {}),
    })
    if (added.outcome === 'refused') return this.end(ofMedia(added))
    const where = { trunk: trunk?.settings.id ?? null, person, flow: trunk ? null : incoming.flow }
    const caller = new Side('caller', where, added.value, this.sideEvents())
    const { parts, registrar, trunks } = this.ground
    this.hunt = new Hunt({
      ...{ parts, registrar, trunks, media: opened.value, caller, plan, codecs, headers, side: this.sideEvents() },
      events: {
        ringing: (target) => this.ringing(plan, target),
        early: () => void this.early(caller),
        dialled: (callId) => this.ground.timelines.follow(this.story, callId, 'callee'),
      },
    })
    if (this.ending) return
    const found = await this.hunt.run()
    if (this.ending) {
      if (!('side' in found)) return
      found.release()
      await found.side.session?.bye()
    } else if ('ending' in found) this.end(found.ending)
    else await this.answer(plan, meter, caller, found)
  }

  /** The desk knows that it rings before the caller does. */
  private ringing(plan: VoicePlan, target: VoiceTarget): void {
    this.rungFor = this.ground.parts.desk
      .ringing(plan.call, target)
      .catch(this.ground.parts.fault)
      .then(() => this.caller.incoming.ring({ status: 180 }))
  }

  private async early({ media }: Side): Promise<void> {
    // Without an offer of the caller's there is nothing to answer before the 200.
    if (this.caller.incoming.invite.body.length === 0) return
    const answer = await media.describe()
    if (answer.outcome === 'done') this.caller.incoming.ring({ status: 183, body: described(answer.value) })
  }

  private async answer(
    plan: VoicePlan,
    meter: Meter,
    caller: Side,
    { target, side: callee, release }: Extract<Found, { side: Side }>,
  ) {
    const { desk } = this.ground.parts
    this.releases.push(release)
    this.sides = [caller, callee]
    meter.sides = this.sides
    caller.partner = callee
    callee.partner = caller
    const session = callee.session
    if (!session) return
    const description = await caller.media.describe()
    if (description.outcome === 'refused') return this.end(ofMedia(description))
    await this.rungFor
    const { incoming } = this.caller
    // From here on it costs: it is written down before the caller hears of it.
    this.answeredBy = target
    const dialogs = [caller.freeze(incoming.dialog), callee.freeze(session.dialog)]
    const asked = desk.answered(plan.call, target, dialogs)
    this.written = asked.catch(() => {})
    const agreed = await asked
    if (this.ending) return
    if ('refused' in agreed) return this.end(ofDesk(agreed.refused))
    const unrecorded = await meter.record(caller, callee)
    if (unrecorded !== null) this.story.tell({ leg: null, what: 'note', text: `not recorded: ${unrecorded}` })
    // Null when the caller was faster: `cancelled` has ended it.
    caller.session = incoming.accept({ body: described(description.value) }, caller)
    if (session.isOver) this.end(hungUp('callee'))
    if (!this.ending) meter.start()
  }

  private async conclude(meter: Meter, ending: Ending): Promise<void> {
    await this.written
    await meter.conclude(ending).catch(this.ground.parts.fault)
    this.leave()
  }

  private leave(): void {
    this.ground.timelines.end(this.story)
    for (const release of this.releases) release()
    this.ground.gone(this)
  }

  private mediaEvents(): MediaEvents {
    const note = (text: string) => this.story.tell({ leg: null, what: 'media', text })
    return {
      connected: (leg) => note(`${leg} is connected`),
      // What was dialled is nobody's matter but the callee's: digits are not told.
      dtmf: () => {},
      silence: (leg, seconds) => {
        const reason = `Nothing was heard of ${leg} for ${seconds} s`
        if (this.answeredBy !== null) this.end({ how: 'media_timeout', status: 408, reason, by: null })
      },
      dropped: (leg, from, expected) =>
        note(`${leg}: packets from ${from} are dropped, they are expected from ${expected}`),
      failed: (leg, reason) => {
        note(`${leg ?? 'media'} failed: ${reason}`)
        const isTheirs = leg === null || leg === 'caller' || this.sides.some(({ media }) => media.id === leg)
        if (isTheirs) this.end(veiled(500, reason))
      },
    }
  }

  private sideEvents(): SideEvents {
    return {
      ended: (side, why) => {
        // Who hangs up as it answers has answered: `answer` tells the caller of the one and then of the other.
        if (!this.sides[0]?.session) return
        if (why === 'remote') this.end(hungUp(side.name))
        else if (why !== 'local')
          this.end({ how: 'interrupted', status: 408, reason: `The ${side.name} is gone: ${why}`, by: side.name })
      },
      note: (side, text) => this.note(side, text),
    }
  }

  private note({ name }: Side, text: string): void {
    this.story.tell({ leg: name, what: 'note', text })
  }

  private after(name: string, milliseconds: number, run: () => void): void {
    if (!this.ending) this.timers.set(name, this.ground.parts.agent.timers.after(milliseconds, run))
  }
}
