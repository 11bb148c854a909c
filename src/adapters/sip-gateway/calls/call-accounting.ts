import type { MediaCall, MediaLegStats, MediaRecorder, MediaResult } from '../../../ports/media.ts'
import type { VoicePlan, VoiceRecording } from '../../../ports/voice.ts'
import type { GatewayDeps } from '../gateway-deps.ts'
import { endMarginMs, heartbeatMs, maxMissedHeartbeats } from '../limits.ts'
import { retryForever } from '../retry-forever.ts'
import type { CallLeg } from './call-leg.ts'
import { causeOfRefusal, causeOfTime, failure, type HangupCause } from './hangup-cause.ts'

/**
 * The accounting of a call: recording, media statistics and paid time. Reports to call control during the call and at
 * its end.
 */
export class CallAccounting {
  media: MediaCall | null = null
  legs: readonly CallLeg[] = []
  /** The media leg of the caller. */
  callerLeg = 'caller'
  /** The media are those of another call, which has recordings of its own. */
  isBorrowed = false
  private readonly gateway: GatewayDeps
  private readonly plan: VoicePlan
  private readonly end: (ending: HangupCause) => void
  /** The id of the recording, once it has begun. */
  private recording: string | null = null
  private recorder: MediaRecorder | null = null
  /** When the answer was reported, and when the call ended, by the clock of the user agent. */
  answeredAt: number | null = null
  private stoppedAt: number | null = null
  private missed = 0
  private stopHeartbeat = () => {}
  private stopCut = () => {}

  constructor(parts: GatewayDeps, plan: VoicePlan, end: (ending: HangupCause) => void) {
    this.gateway = parts
    this.plan = plan
    this.end = end
  }

  /**
   * Starts the recording: left is our user, right the far end. @returns why there is no recording; null when there is
   * one, or none is wanted
   */
  async record(caller: CallLeg, callee: CallLeg): Promise<string | null> {
    const [left, right] = caller.person ? [caller.media, callee.media] : [callee.media, caller.media]
    return await this.beginRecording((media, path) =>
      this.isBorrowed
        ? media.record(path, { leg: left, of: 'said' }, { leg: right, of: 'said' })
        : media.startRecording(path, left, right),
    )
  }

  /**
   * Starts the recording of a call that a program runs: what its party says, and what it hears. Our user is left here too;
   * the program is in its place for any other party. @returns as `record`
   */
  async recordParty({ media: leg, person }: CallLeg): Promise<string | null> {
    const [left, right] = person ? (['said', 'heard'] as const) : (['heard', 'said'] as const)
    return await this.beginRecording((media, path) => media.record(path, { leg, of: left }, { leg, of: right }))
  }

  private async beginRecording(
    begin: (media: MediaCall, path: string) => Promise<MediaResult<MediaRecorder | null>>,
  ): Promise<string | null> {
    const { record } = this.plan
    if (record === null || !this.media) return null
    const begun = await begin(this.media, record.path)
    if (begun.outcome === 'refused') return begun.reason
    this.recorder = begun.value
    this.recording = record.id
    return null
  }

  /** Starts accounting at the answer. */
  start(): void {
    const { mostSeconds } = this.plan
    this.scheduleHeartbeat()
    if (mostSeconds === null || this.stoppedAt !== null) return
    const { timers } = this.gateway.agent
    const talkedMs = timers.now() - (this.answeredAt ?? timers.now())
    this.stopCut = timers.after(Math.max(0, mostSeconds * 1_000 - talkedMs - endMarginMs), () =>
      this.end(causeOfTime(mostSeconds)),
    )
  }

  stop(): void {
    this.stoppedAt ??= this.gateway.agent.timers.now()
    this.stopHeartbeat()
    this.stopCut()
  }

  /**
   * Stops the recording, has the media closed, then reports the end to call control until it is persisted. That time is
   * not part of the call.
   */
  async conclude({ how, status, reason, by }: HangupCause, closeMedia: () => Promise<void>): Promise<void> {
    const { callControl, agent, onError } = this.gateway
    const endedAt = this.stoppedAt ?? agent.timers.now()
    const stats = await this.stats()
    const recordings = await this.stopRecording()
    await closeMedia()
    await retryForever(agent.timers, onError, () => {
      const agoMs = agent.timers.now() - endedAt
      return callControl.ended(this.plan.call, { how, status, reason, by, agoMs, stats, recordings })
    })
  }

  private async stopRecording(): Promise<VoiceRecording[]> {
    const id = this.recording
    if (id === null) return []
    const stopped = await (this.recorder ? this.recorder.stop() : this.media?.stopRecording())
    return [{ id, content: stopped?.outcome === 'done' ? stopped.value : 'left' }]
  }

  private scheduleHeartbeat(): void {
    if (this.stoppedAt === null)
      this.stopHeartbeat = this.gateway.agent.timers.after(heartbeatMs, () => void this.heartbeat())
  }

  private async heartbeat(): Promise<void> {
    try {
      const agreed = await this.gateway.callControl.heartbeat(this.plan.call, await this.stats())
      this.missed = 0
      if ('refused' in agreed) this.end(causeOfRefusal(agreed.refused))
    } catch (error) {
      this.gateway.onError(error)
      if (++this.missed >= maxMissedHeartbeats) this.end(failure(500, 'The call could not be persisted'))
    }
    this.scheduleHeartbeat()
  }

  /** Statistics of both legs, keyed caller and callee. */
  private async stats(): Promise<MediaLegStats[]> {
    const stats = await this.media?.stats()
    if (stats?.outcome !== 'done') return []
    const names = new Map(this.legs.map(({ media, name }) => [media.id, name] as const))
    return stats.value.flatMap((one) => {
      const leg = names.get(one.leg) ?? (one.leg === this.callerLeg ? 'caller' : null)
      return leg === null ? [] : [{ ...one, leg }]
    })
  }
}
