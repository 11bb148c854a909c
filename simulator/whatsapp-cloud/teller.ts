import { createHmac } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import type { Faults } from './faults.ts'

export type Subscription = { readonly url: string; readonly verifyToken: string }

/** Tries of a call that is not answered by 200, and the first wait between two, milliseconds; it doubles. */
const mostTries = 12
const firstWait = 100

/** Calls the address that was given to the app, signed, until it answers 200. */
export class Teller {
  private readonly secret: string
  private readonly account: string
  private readonly faults: Faults
  private subscription: Subscription | null = null
  /** Bodies that were answered by 200, as they went out. */
  readonly told: string[] = []

  constructor(secret: string, account: string, faults: Faults) {
    this.secret = secret
    this.account = account
    this.faults = faults
  }

  /** Asks the address whether it knows the token, as the app's settings do. @returns why it is not taken, or null */
  async subscribe(subscription: Subscription): Promise<string | null> {
    const challenge = String(Math.floor(Math.random() * 1e9))
    const query = new URLSearchParams({
      'hub.mode': 'subscribe',
      'hub.verify_token': subscription.verifyToken,
      'hub.challenge': challenge,
    })
    const answer = await fetch(`${subscription.url}?${query}`)
    const text = await answer.text()
    if (answer.status !== 200 || text !== challenge) return `answered ${answer.status}: ${text.slice(0, 200)}`
    this.subscription = subscription
    return null
  }

  /** Tells a value of a field. Resolves when it was taken, or given up. */
  async tell(field: string, value: object): Promise<void> {
    const change = { field, value: { messaging_product: 'whatsapp', ...value } }
    const body = { object: 'whatsapp_business_account', entry: [{ id: this.account, changes: [change] }] }
    await this.post(JSON.stringify(body))
    if (this.faults.take('twice')) await this.post(JSON.stringify(body))
  }

  private async post(body: string): Promise<void> {
    if (!this.subscription) return
    const signature = `sha256=${createHmac('sha256', this.secret).update(body).digest('hex')}`
    const headers = { 'content-type': 'application/json', 'x-hub-signature-256': signature }
    for (let tries = 0; tries < mostTries; tries++) {
      const answer = await fetch(this.subscription.url, { method: 'POST', headers, body }).catch(() => null)
      await answer?.body?.cancel()
      if (answer?.status === 200) {
        this.told.push(body)
        return
      }
      await pause(firstWait * 2 ** tries)
    }
  }
}
