import { canonicalNumber } from '@trunkline/phone/number-forms.ts'
import type { ChatChannel, ChatChannelState, ChatDeps, ChatNetwork } from '../../ports/chat.ts'
import type { LinkState } from '../../ports/sms.ts'
import type { ServiceResult } from '../../ports/supplier.ts'
import { rateLimitCode } from './codec/errors.ts'
import { listOf, textOf } from './codec/fields.ts'
import { type GraphClient, makeGraphClient } from './graph-client.ts'
import { listTtlMs, pingTimeoutMs } from './limits.ts'
import { mediaCategoryOf, openMedia, retryIfUnknown, setPicture, uploadFile } from './media-files.ts'
import { bodyOf, contentError } from './message-body.ts'
import { listPhones, type Phone } from './phones.ts'
import { makeSendPacer, type SendPacer } from './send-pacer.ts'
import type { WhatsappCloudSettings } from './whatsapp-cloud-settings.ts'

/** First and longest delay between attempts to link a number in ms; each is randomised between half and full. */
const [minDelayMs, maxDelayMs] = [500, 60_000]

type AttachedNumber = {
  readonly ref: ChatChannel
  readonly pacer: SendPacer
  phone: Phone | null
  timer: NodeJS.Timeout | null
  attempts: number
}

const notLinked = { outcome: 'later', seconds: 1, reason: 'the number is not linked' } as const
const nothing = { outcome: 'done', value: null } as const

/**
 * Numbers of a WhatsApp business account, over the Graph API. There is no lasting connection: a number is connected
 * while the account has it and responds. Inbound events arrive at our webhook address (callback.ts).
 */
export class WhatsappCloudNetwork implements ChatNetwork {
  private readonly settings: WhatsappCloudSettings
  private readonly tools: ChatDeps
  private readonly client: GraphClient
  private readonly byChannel = new Map<string, AttachedNumber>()
  private phoneList: { readonly at: number; readonly phones: Promise<ServiceResult<readonly Phone[]>> } | null = null
  private sharedPing: Promise<boolean> | null = null
  private refusal: string | null = null

  constructor(settings: WhatsappCloudSettings, tools: ChatDeps) {
    this.settings = settings
    this.tools = tools
    this.client = makeGraphClient(settings, (reason) => this.refused(reason))
  }

  attach(line: ChatChannel): void {
    const attached: AttachedNumber = { ref: line, pacer: makeSendPacer(), phone: null, timer: null, attempts: 0 }
    this.byChannel.set(line.channel, attached)
    this.publishState(attached, { phase: 'connecting', reason: 'the account is asked for the number', fatal: false })
    void this.link(attached)
  }

  async detach(channel: string): Promise<void> {
    const attached = this.byChannel.get(channel)
    if (attached?.timer) clearTimeout(attached.timer)
    this.byChannel.delete(channel)
  }

  /** One round trip for all numbers. Any response of the account counts, unless the token is refused. */
  ping(channel: string): Promise<boolean> {
    if (!this.byChannel.get(channel)?.phone) return Promise.resolve(false)
    const query = { fields: 'id' }
    this.sharedPing ??= this.client
      .request({ path: this.account, query, milliseconds: pingTimeoutMs })
      .then(({ outcome }) => (outcome === 'done' || this.isAnswering()) && this.refusal === null)
      .finally(() => {
        this.sharedPing = null
      })
    return this.sharedPing
  }

  async send(channel: string, message: Parameters<ChatNetwork['send']>[1]): ReturnType<ChatNetwork['send']> {
    const { phone, pacer } = this.byChannel.get(channel) ?? {}
    if (!phone || !pacer) return notLinked
    const { file } = message
    const as = file && mediaCategoryOf(file)
    const fault = contentError(message, as)
    if (fault !== null) return { outcome: 'refused', reason: fault }
    const uploaded = file ? await uploadFile(this.client, phone.id, file) : null
    if (uploaded && uploaded.outcome !== 'done') return uploaded
    const media = uploaded && as ? { id: uploaded.value, as } : null
    const wait = await pacer.acquire()
    if (wait !== null) return { outcome: 'later', seconds: wait, reason: 'the send rate limit is reached' }
    const result = await this.post(phone, 'messages', bodyOf(message, media))
    if (result.outcome === 'later' && result.code === rateLimitCode) pacer.pauseFor(result.seconds)
    if (result.outcome !== 'done') return result
    const id = textOf(listOf(result.value.messages)[0]?.id)
    return id === null
      ? { outcome: 'unknown', reason: 'the network’s response has no message id' }
      : { outcome: 'done', value: { id, at: Date.now() } }
  }

  async setPicture(channel: string, image: Buffer | null): Promise<ServiceResult<null>> {
    const phone = this.byChannel.get(channel)?.phone
    if (!phone) return notLinked
    if (image === null) return { outcome: 'refused', reason: 'the Graph API cannot remove a picture' }
    return setPicture(this.client, phone.id, image)
  }

  async setStatus(channel: string, text: string): Promise<ServiceResult<null>> {
    const phone = this.byChannel.get(channel)?.phone
    if (!phone) return notLinked
    const profile = { messaging_product: 'whatsapp', about: text }
    const result = retryIfUnknown(await this.post(phone, 'whatsapp_business_profile', profile))
    return result.outcome === 'done' ? nothing : result
  }

  /** Marks only the newest message; the network marks earlier ones with it. */
  async markRead(channel: string, _from: unknown, ids: readonly string[]): Promise<ServiceResult<null>> {
    const phone = this.byChannel.get(channel)?.phone
    if (!phone) return notLinked
    const id = ids.at(-1)
    if (id === undefined) return nothing
    const read = { messaging_product: 'whatsapp', status: 'read', message_id: id }
    const result = retryIfUnknown(await this.post(phone, 'messages', read))
    return result.outcome === 'done' ? nothing : result
  }

  async media(channel: string, id: string): ReturnType<NonNullable<ChatNetwork['media']>> {
    const phone = this.byChannel.get(channel)?.phone
    return phone ? openMedia(this.client, this.settings, phone.id, id) : notLinked
  }

  state(): LinkState {
    return this.client.state()
  }

  async close(): Promise<void> {
    this.client.close()
    for (const { timer } of this.byChannel.values()) if (timer) clearTimeout(timer)
    this.byChannel.clear()
  }

  private get account(): string {
    return encodeURIComponent(this.settings.business_account_id)
  }

  private post(phone: Phone, what: string, body: object) {
    return this.client.request({ method: 'POST', path: `${phone.id}/${what}`, body })
  }

  private isAnswering(): boolean {
    return this.client.state().state === 'up'
  }

  private publishState({ ref: { channel } }: AttachedNumber, state: ChatChannelState): void {
    this.tools.events.line(channel, state)
  }

  private isOurs(attached: AttachedNumber): boolean {
    return this.byChannel.get(attached.ref.channel) === attached
  }

  /** The token is refused: every number fails until the connection's settings change. */
  private refused(reason: string): void {
    this.refusal = reason
    for (const attached of this.byChannel.values()) this.fail(attached, `the access token is refused: ${reason}`)
  }

  private fail(attached: AttachedNumber, reason: string): void {
    if (attached.timer) clearTimeout(attached.timer)
    attached.phone = null
    this.publishState(attached, { phase: 'failed', reason, fatal: true })
  }

  /** One list for all numbers that are attached at about the same time. */
  private phones(): Promise<ServiceResult<readonly Phone[]>> {
    if (!this.phoneList || performance.now() - this.phoneList.at > listTtlMs) {
      const phones = listPhones(this.client, this.settings.business_account_id)
      this.phoneList = { at: performance.now(), phones }
    }
    return this.phoneList.phones
  }

  private async link(attached: AttachedNumber): Promise<void> {
    const result = await this.phones()
    if (!this.isOurs(attached)) return
    if (result.outcome !== 'done') {
      this.phoneList = null
      if (this.refusal === null) this.scheduleRetry(attached, result)
      return
    }
    this.refusal = null
    const { number } = attached.ref
    // The network shows numbers in the form of their sign-up.
    const isOurs = ({ digits }: Phone) => canonicalNumber(`+${digits}`) === canonicalNumber(number)
    const phone = result.value.find(isOurs)
    if (!phone) return this.fail(attached, `the business account has no number ${number}`)
    attached.phone = phone
    this.publishState(attached, {
      phase: 'connected',
      reason: 'the business account has the number',
      fatal: false,
      me: {
        ...(phone.name === null ? {} : { pushname: phone.name }),
        id: phone.id,
        server: `${phone.digits}@c.us`,
        business: true,
      },
    })
  }

  private scheduleRetry(attached: AttachedNumber, result: Exclude<ServiceResult<unknown>, { outcome: 'done' }>): void {
    const grown = Math.min(maxDelayMs, minDelayMs * 2 ** attached.attempts++)
    const least = result.outcome === 'later' ? Math.min(maxDelayMs, result.seconds * 200) : 0
    const wait = Math.max(least, grown * (0.5 + Math.random() / 2))
    this.publishState(attached, { phase: 'disconnected', reason: result.reason, fatal: false })
    attached.timer = setTimeout(() => void this.link(attached), wait)
  }
}
