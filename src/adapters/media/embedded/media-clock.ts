import { defaultPacketMs, maxLateTicks } from '../limits.ts'

/** Called with the ticks that have passed, 1 to `maxLateTicks`, and the time of the monotonic clock in milliseconds. */
export type ClockListener = (ticks: number, at: number) => void

/**
 * The clock of a worker: a tick every 20 ms for every leg that plays sounds or sends keys. All legs share one timer,
 * and none runs while no leg listens. A late timer is compensated by at most `maxLateTicks`; later ticks are dropped.
 */
export class MediaClock {
  private readonly listeners = new Set<ClockListener>()
  private timer: NodeJS.Timeout | null = null
  private epoch = 0
  private passed = 0

  start(listener: ClockListener): void {
    this.listeners.add(listener)
    if (this.timer) return
    this.epoch = performance.now()
    this.passed = 0
    this.schedule(this.epoch)
  }

  stop(listener: ClockListener): void {
    this.listeners.delete(listener)
  }

  private schedule(now: number): void {
    const wait = this.epoch + (this.passed + 1) * defaultPacketMs - now
    this.timer = setTimeout(() => this.tick(), Math.max(1, wait))
  }

  private tick(): void {
    const at = performance.now()
    // Timers may fire a millisecond early.
    const passed = Math.floor((at - this.epoch) / defaultPacketMs + 0.1)
    const ticks = Math.min(passed - this.passed, maxLateTicks)
    this.passed = passed
    if (ticks > 0) for (const listener of this.listeners) listener(ticks, at)
    if (this.listeners.size > 0) this.schedule(performance.now())
    else this.timer = null
  }
}
