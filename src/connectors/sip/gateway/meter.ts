import type { MediaCall, MediaLegStats } from '../../port.ts'
import type { VoicePlan } from '../../voice-port.ts'
import { type Ending, failed, ofDesk } from './ending.ts'
import type { Parts } from './parts.ts'
import { settle } from './settle.ts'
import type { Side } from './side.ts'

const beatMs = 5_000
/** How many beats may fail to be written before the call is cut: a minute of them. */
const mostMissed = 12

/** What is counted and kept of a call: its recording, its packets, the time that it may take; told to the desk as it goes, and at its end. */
export class Meter {
  media: MediaCall | null = null
  sides: readonly Side[] = []
  private readonly parts: Parts
  private readonly plan: VoicePlan
  private readonly end: (ending: Ending) => void
  private isRecorded = false
  /** When it was over, by the agent's timers. */
  private stoppedAt: number | null = null
  private missed = 0
  private stopBeat = () => {}
  private stopCut = () => {}

  constructor(parts: Parts, plan: VoicePlan, end: (ending: Ending) => void) {
    this.parts = parts
    this.plan = plan
    this.end = end
  }

  /** Left is whoever is one of ours, right the far end. @returns why there is no recording; null when there is, or none is wanted */
  async record(caller: Side, callee: Side): Promise<string | null> {
    if (this.plan.record === null) return null
    const [left, right] = caller.trunk === null ? [caller, callee] : [callee, caller]
    const begun = await this.media?.startRecording(this.plan.record, left.media, right.media)
    this.isRecorded = begun?.outcome === 'done'
    return begun?.outcome === 'refused' ? begun.reason : null
  }

  /** From the answer on. */
  start(): void {
    const { mostSeconds } = this.plan
    this.again()
    if (mostSeconds === null || this.stoppedAt !== null) return
    this.stopCut = this.parts.agent.timers.after(mostSeconds * 1_000, () =>
      this.end({ how: 'balance', status: 402, reason: 'The time that was paid for is over', by: null }),
    )
  }

  stop(): void {
    this.stoppedAt ??= this.parts.agent.timers.now()
    this.stopBeat()
    this.stopCut()
  }

  /** Ends the media, and tells the desk until it knows. What that takes is no part of the call. */
  async conclude({ how, status, reason, by }: Ending): Promise<void> {
    const { desk, agent, fault } = this.parts
    const endedAt = this.stoppedAt ?? agent.timers.now()
    const stats = await this.stats()
    const stopped = this.isRecorded ? await this.media?.stopRecording() : null
    await this.media?.close()
    const recording = stopped?.outcome === 'done' ? stopped.value : this.isRecorded ? 'left' : null
    await settle(agent.timers, fault, () => {
      const agoMs = agent.timers.now() - endedAt
      return desk.ended(this.plan.call, { how, status, reason, by, agoMs, stats, recording })
    })
  }

  private again(): void {
    if (this.stoppedAt === null) this.stopBeat = this.parts.agent.timers.after(beatMs, () => void this.beat())
  }

  private async beat(): Promise<void> {
    try {
      const agreed = await this.parts.desk.beat(this.plan.call, await this.stats())
      this.missed = 0
      if ('refused' in agreed) this.end(ofDesk(agreed.refused))
    } catch (error) {
      this.parts.fault(error)
      if (++this.missed >= mostMissed) this.end(failed(500, 'The call could not be written down'))
    }
    this.again()
  }

  /** Of those two that speak, under their names. */
  private async stats(): Promise<MediaLegStats[]> {
    const stats = await this.media?.stats()
    if (stats?.outcome !== 'done') return []
    const names = new Map(this.sides.map(({ media, name }) => [media.id, name] as const))
    return stats.value.flatMap((one) => {
      const leg = names.get(one.leg) ?? (one.leg === 'caller' ? one.leg : null)
      return leg === null ? [] : [{ ...one, leg }]
    })
  }
}
