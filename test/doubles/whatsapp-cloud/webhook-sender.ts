import { createHmac } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import type { Faults } from './graph-faults.ts'

export type Subscription = { readonly url: string; readonly verifyToken: string }

/** Attempts of a webhook call not answered with 200, and the first delay between two in ms; it doubles. */
const maxAttempts = 12
const firstDelayMs = 100

/** Sends signed webhook calls to the app's address until the response is 200. */
export class WebhookSender {
  private readonly secret: string
  private readonly account: string
  private readonly faults: Faults
  private subscription: Subscription | null = null
  /** Bodies answered with 200, as sent. */
  readonly delivered: string[] = []

  constructor(secret: string, account: string, faults: Faults) {
    this.secret = secret
    this.account = account
    this.faults = faults
  }

  /** Verifies the address with the token, like the app's settings. @returns the error, or null */
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

  /** Sends a value of a field. Resolves when it was accepted or given up. */
  async send(field: string, value: object): Promise<void> {
    const change = { field, value: { messaging_product: 'whatsapp', ...value } }
    const body = { object: 'whatsapp_business_account', entry: [{ id: this.account, changes: [change] }] }
    await this.post(JSON.stringify(body))
    if (this.faults.take('twice')) await this.post(JSON.stringify(body))
  }

  private async post(body: string): Promise<void> {
    if (!this.subscription) return
    const signature = `sha256=${createHmac('sha256', this.secret).update(body).digest('hex')}`
    const headers = { 'content-type': 'application/json', 'x-hub-signature-256': signature }
    for (let tries = 0; tries < maxAttempts; tries++) {
      const answer = await fetch(this.subscription.url, { method: 'POST', headers, body }).catch(() => null)
      await answer?.body?.cancel()
      if (answer?.status === 200) {
        this.delivered.push(body)
        return
      }
      await pause(firstDelayMs * 2 ** tries)
    }
  }
}
