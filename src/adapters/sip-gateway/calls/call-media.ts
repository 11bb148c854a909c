import type { MediaCall, MediaEvents, MediaLeg } from '../../../ports/media.ts'

/** Media that a call has from another one. */
export type MediaLoan = {
  readonly call: MediaCall
  /** Removes the legs of the borrower. */
  giveBack(legs: readonly MediaLeg[]): Promise<void>
}

/** The media of a call. It lends them to the calls that it dials, whose legs have prefixes of their own. */
export class CallMedia {
  call: MediaCall | null = null
  private readonly own: MediaEvents
  private readonly borrowers = new Map<string, { readonly events: MediaEvents; readonly returned: Promise<void> }>()

  constructor(own: MediaEvents) {
    this.own = own
  }

  /** Events of the engine, each for the call that has the leg. */
  readonly events: MediaEvents = {
    connected: (leg) => this.eventsOf(leg).connected(leg),
    dtmf: (leg, digit) => this.eventsOf(leg).dtmf(leg, digit),
    speech: (leg, change) => this.eventsOf(leg).speech?.(leg, change),
    silence: (leg, seconds) => this.eventsOf(leg).silence(leg, seconds),
    failed: (leg, reason) => this.eventsOf(leg).failed(leg, reason),
    dropped: (leg, from, expected) => this.eventsOf(leg).dropped(leg, from, expected),
  }

  /** @param prefix of the ids of the borrower's legs @returns null if there are no media */
  lend(prefix: string, events: MediaEvents): MediaLoan | null {
    const { call, borrowers } = this
    if (!call) return null
    const { promise: returned, resolve } = Promise.withResolvers<void>()
    borrowers.set(`${prefix}-`, { events, returned })
    return {
      call,
      giveBack: async (legs) => {
        for (const leg of legs) await call.removeLeg(leg)
        borrowers.delete(`${prefix}-`)
        resolve()
      },
    }
  }

  /** Closes the media once they are given back. */
  async close(): Promise<void> {
    await Promise.all([...this.borrowers.values()].map(({ returned }) => returned))
    await this.call?.close()
  }

  private eventsOf(leg: string | null): MediaEvents {
    if (leg !== null) for (const [prefix, { events }] of this.borrowers) if (leg.startsWith(prefix)) return events
    return this.own
  }
}
