import { randomBytes } from 'node:crypto'
import type { WebhookSender } from './webhook-sender.ts'

/** A message that a person received from a number of the account. */
export type ReceivedMessage = {
  readonly id: string
  /** Digits of the number. */
  readonly from: string
  readonly text: string
  readonly digest?: string
  readonly pin?: object
  readonly template?: string
  isRead: boolean
}

export type Person = {
  /** Digits of the number, the network's `wa_id`. */
  readonly id: string
  /** The business-scoped id, shown instead of the number for people with a user name. */
  readonly user: string
  readonly name: string
  readonly isHidden: boolean
  readonly received: ReceivedMessage[]
  /** Time of the last message to each number of the account, Unix milliseconds. */
  readonly wrote: Map<string, number>
}

/** A number of the business, by its digits and its id. */
export type Business = { readonly id: string; readonly digits: string; readonly name: string }

const windowMs = 24 * 3600 * 1000
const now = () => String(Math.floor(Date.now() / 1000))
export const newId = () => `wamid.${randomBytes(24).toString('base64')}`

/** People on the network and their actions. */
export class People {
  private readonly webhookSender: WebhookSender
  private readonly byId = new Map<string, Person>()

  constructor(webhooks: WebhookSender) {
    this.webhookSender = webhooks
  }

  add(id: string, options: { name?: string; isHidden?: boolean } = {}): Person {
    const person: Person = {
      id,
      user: `GB.${randomBytes(9).toString('hex')}`,
      name: options.name ?? `Somebody ${id.slice(-4)}`,
      isHidden: options.isHidden ?? false,
      received: [],
      wrote: new Map(),
    }
    this.byId.set(id, person)
    return person
  }

  /** Finds a person by number or business-scoped id. */
  find(id: string): Person | null {
    return this.byId.get(id) ?? [...this.byId.values()].find(({ user }) => user === id) ?? null
  }

  isOpen(person: Person, business: Business): boolean {
    return Date.now() - (person.wrote.get(business.id) ?? 0) < windowMs
  }

  /** Sends a message from a person. @param content the type and its content, in the network's format */
  async write(person: Person, business: Business, content: object, id = newId()): Promise<string> {
    person.wrote.set(business.id, Date.now())
    await this.sendWebhook(business, 'messages', {
      contacts: [{ profile: { name: person.name }, ...this.idsOf(person, 'wa_id', 'user_id') }],
      messages: [{ ...this.idsOf(person, 'from', 'from_user_id'), id, timestamp: now(), ...content }],
    })
    return id
  }

  async call(person: Person, business: Business): Promise<void> {
    const ids = this.idsOf(person, 'from', 'from_user_id')
    const call = { id: `wacid.${randomBytes(12).toString('hex')}`, ...ids, to: business.digits }
    for (const event of ['connect', 'terminate'])
      await this.sendWebhook(business, 'calls', {
        calls: [{ ...call, event, direction: 'USER_INITIATED', timestamp: now() }],
      })
  }

  /** Opens the messages from the business. */
  async read(person: Person, business: Business): Promise<void> {
    for (const one of person.received.filter(({ from, isRead }) => from === business.digits && !isRead)) {
      one.isRead = true
      await this.status(person, business, one.id, 'read')
    }
  }

  status(person: Person, business: Business, id: string, status: string, more: object = {}): Promise<void> {
    const ids = this.idsOf(person, 'recipient_id', 'recipient_user_id')
    return this.sendWebhook(business, 'messages', { statuses: [{ id, status, timestamp: now(), ...ids, ...more }] })
  }

  private sendWebhook(business: Business, field: string, value: object): Promise<void> {
    const metadata = { display_phone_number: business.digits, phone_number_id: business.id }
    return this.webhookSender.send(field, { metadata, ...value })
  }

  private idsOf({ id, user, isHidden }: Person, number: string, scoped: string): object {
    return isHidden ? { [scoped]: user } : { [number]: id, [scoped]: user }
  }
}
