import type { CarrierState, SmsCarrier, SmsEvents, SmsPart, SmsReceipt, SubmitResult } from '../../src/ports/sms.ts'
import { inProcess, type Process, place, type Schedule, short } from './schedule.ts'

// Stands in for the SMPP connector of the driver (modules.ts): carriers without sockets.

/** A part that a carrier got. */
export type Submission = {
  readonly carrier: string
  readonly process: Process
  readonly message: string
  readonly part: number
  readonly carrierId: string
  readonly isAccepted: boolean
}

/** A link of a process to a carrier. */
type Link = { readonly process: Process; readonly carrier: string; readonly events: SmsEvents }

/** Unanswered submits that a carrier allows. */
const window = 3

/** The carriers of a schedule. */
export class Network {
  readonly submissions: Submission[] = []
  /** Receipts that a process acknowledged. */
  readonly #acknowledged: SmsReceipt[] = []
  readonly #schedule: Schedule
  #links: Link[] = []
  /** Receipts under way, with their links. */
  #pending: { readonly link: Link; readonly again: () => void }[] = []

  constructor(schedule: Schedule) {
    this.#schedule = schedule
  }

  /** States of a part that a process acknowledged, in that order. */
  states(carrierId: string | null): SmsReceipt['state'][] {
    return this.#acknowledged.filter((receipt) => receipt.carrierId === carrierId).map(({ state }) => state)
  }

  connect(process: Process, carrier: string, events: SmsEvents): SmsCarrier {
    const link = { process, carrier, events }
    this.#links.push(link)
    let inFlight = 0
    const state = (): CarrierState => ({
      ...{ state: 'up', since: this.#schedule.now, lastError: null, inFlight, submitted: 0, fatal: false },
      ...{ window, links: [] },
    })
    return {
      freeWindow: () => window - inFlight,
      isUp: () => true,
      state,
      submit: async (part) => {
        inFlight++
        const result = await this.#submit(link, part)
        inFlight--
        events.changed()
        return result
      },
      close: async () => {
        this.#links = this.#links.filter((one) => one !== link)
      },
    }
  }

  /** Receipts that a crashed process did not acknowledge are delivered again. */
  drop(process: Process): void {
    this.#links = this.#links.filter((link) => link.process !== process)
    const lost = this.#pending.filter(({ link }) => link.process === process)
    this.#pending = this.#pending.filter(({ link }) => link.process !== process)
    for (const { again } of lost) again()
  }

  async #submit({ process, carrier }: Link, { message, part, source, destination }: SmsPart): Promise<SubmitResult> {
    const schedule = this.#schedule
    const name = `${short(message)}/${part}`
    await schedule.park(`${process.name} submits ${name} to ${carrier}`, process)
    const isLost = schedule.faults.lost > 0 && schedule.random() < 0.1
    if (isLost) schedule.faults.lost--
    const fate = schedule.random()
    const isAccepted = fate < (isLost ? 0.5 : 0.8)
    const carrierId = `s${schedule.number}x${this.submissions.length + 1}`
    this.submissions.push({ carrier, process, message, part, carrierId, isAccepted })
    if (isAccepted) this.#plan(carrier, carrierId, { handset: destination, number: source })
    await schedule.park(`${process.name} gets the answer of ${carrier} to ${name}`, process)
    if (isLost) {
      schedule.note(`the answer of ${carrier} to ${name} is lost; accepted: ${isAccepted}`)
      return { outcome: 'unknown', reason: 'unanswered', detail: 'no answer' }
    }
    if (isAccepted) return { outcome: 'accepted', carrierId }
    return fate < 0.95
      ? { outcome: 'retry', wasSent: true, reason: 'ESME_RTHROTTLED', seconds: 0 }
      : { outcome: 'refused', reason: 'ESME_RINVDSTADR' }
  }

  /** Plans the receipts of an accepted part. */
  #plan(carrier: string, carrierId: string, numbers: Pick<SmsReceipt, 'handset' | 'number'>): void {
    const states = this.#schedule.pick([
      ['delivered'],
      ['delivered'],
      ['enroute', 'delivered'],
      ['undelivered'],
      ['undelivered', 'delivered'],
      [],
    ] as const)
    for (const state of states) this.#report(carrier, { carrierId, state, error: null, ...numbers })
  }

  #report(carrier: string, receipt: SmsReceipt): void {
    const name = receipt.carrierId.replace(/^.*x/, 'part ')
    const label = `${carrier} reports ${name} ${receipt.state}`
    const again = () => this.#report(carrier, receipt)
    this.#schedule.offer(
      label,
      null,
      () => {
        const links = this.#links.filter((link) => link.carrier === carrier && link.process.alive)
        const link = links[this.#schedule.below(links.length)]
        // No process is connected: later.
        if (!link) return void this.#waiting.push(again)
        const pending = { link, again }
        this.#pending.push(pending)
        const ended = () => {
          this.#pending = this.#pending.filter((one) => one !== pending)
        }
        void inProcess(this.#schedule, link.process, () => link.events.receipt(receipt)).then(
          () => {
            ended()
            this.#acknowledged.push(receipt)
            this.#schedule.note(`${link.process.name} acknowledges ${name} ${receipt.state}`)
          },
          () => {
            ended()
            again()
          },
        )
      },
      5,
    )
  }

  readonly #waiting: (() => void)[] = []

  /** Delivers what waited for a link. */
  resume(): void {
    for (const again of this.#waiting.splice(0)) again()
  }
}

const networks = new WeakMap<Schedule, Network>()

/** Returns the carriers of a schedule. */
export const networkOf = (schedule: Schedule): Network => {
  const network = networks.get(schedule) ?? new Network(schedule)
  networks.set(schedule, network)
  return network
}

/** Connects the process that runs to the carrier that the settings name. */
export const connectSmpp = (settings: { readonly system_id: string }, events: SmsEvents): SmsCarrier => {
  const at = place.getStore()
  if (!at) throw new Error('a carrier of the simulation is connected by one of its processes')
  const network = networkOf(at.schedule)
  const carrier = network.connect(at.process, settings.system_id, events)
  network.resume()
  return carrier
}
