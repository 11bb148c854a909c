import type { ChatLine, ChatLineState, ChatNetwork, ChatTools } from '../chat-port.ts'
import type { Asked, LinkState } from '../port.ts'
import { type Client, makeClient } from './client.ts'
import { tooMany } from './codec/errors.ts'
import { listOf, textOf } from './codec/fields.ts'
import { openMedia, repeatable, sentAs, setPicture, uploadFile } from './media.ts'
import { bodyOf, faultOf } from './outgoing.ts'
import { makePace, type Pace } from './pace.ts'
import { listPhones, type Phone } from './phones.ts'
import type { WhatsappCloudSettings } from './settings.ts'

/** The first wait before another attempt to link a line, and the longest, milliseconds; each is taken half to whole, by chance. */
const [shortest, longest] = [500, 60_000]
const proofMs = 4_000
/** Lines that begin within so many milliseconds share one list of the numbers; who comes later may be newer than it. */
const listMs = 2_000

type Attached = {
  readonly of: ChatLine
  readonly pace: Pace
  phone: Phone | null
  timer: NodeJS.Timeout | null
  attempts: number
}

const gone = { outcome: 'later', seconds: 1, reason: 'the number is not linked' } as const
const nothing = { outcome: 'done', value: null } as const

/**
 * Numbers of a WhatsApp business account, over the Graph API. There is no lasting link: a line is connected while the account
 * has its number and answers; what comes in comes to our callback address (callback.ts).
 */
export class WhatsappCloudNetwork implements ChatNetwork {
  private readonly settings: WhatsappCloudSettings
  private readonly tools: ChatTools
  private readonly client: Client
  private readonly lines = new Map<string, Attached>()
  private listed: { readonly at: number; readonly phones: Promise<Asked<readonly Phone[]>> } | null = null
  private proof: Promise<boolean> | null = null
  private refusal: string | null = null

  constructor(settings: WhatsappCloudSettings, tools: ChatTools) {
    this.settings = settings
    this.tools = tools
    this.client = makeClient(settings, (reason) => this.refused(reason))
  }

  attach(line: ChatLine): void {
    const attached: Attached = { of: line, pace: makePace(), phone: null, timer: null, attempts: 0 }
    this.lines.set(line.channel, attached)
    this.tell(attached, { phase: 'connecting', reason: 'the account is asked for the number', fatal: false })
    void this.link(attached)
  }

  async detach(channel: string): Promise<void> {
    const attached = this.lines.get(channel)
    if (attached?.timer) clearTimeout(attached.timer)
    this.lines.delete(channel)
  }

  /** One round trip for all lines: the account's answer, whatever it says, unless our token is refused. */
  prove(channel: string): Promise<boolean> {
    if (!this.lines.get(channel)?.phone) return Promise.resolve(false)
    const query = { fields: 'id' }
    this.proof ??= this.client
      .ask({ path: this.account, query, milliseconds: proofMs })
      .then(({ outcome }) => (outcome === 'done' || this.isAnswering()) && this.refusal === null)
      .finally(() => {
        this.proof = null
      })
    return this.proof
  }

  async send(channel: string, message: Parameters<ChatNetwork['send']>[1]): ReturnType<ChatNetwork['send']> {
    const { phone, pace } = this.lines.get(channel) ?? {}
    if (!phone || !pace) return gone
    const { file } = message
    const as = file && sentAs(file)
    const fault = faultOf(message, as)
    if (fault !== null) return { outcome: 'refused', reason: fault }
    const uploaded = file ? await uploadFile(this.client, phone.id, file) : null
    if (uploaded && uploaded.outcome !== 'done') return uploaded
    const media = uploaded && as ? { id: uploaded.value, as } : null
    const wait = await pace.turn()
    if (wait !== null) return { outcome: 'later', seconds: wait, reason: 'the network bears no more at this moment' }
    const told = await this.post(phone, 'messages', bodyOf(message, media))
    if (told.outcome === 'later' && told.code === tooMany) pace.hold(told.seconds)
    if (told.outcome !== 'done') return told
    const id = textOf(listOf(told.value.messages)[0]?.id)
    return id === null
      ? { outcome: 'unknown', reason: 'the network’s answer names no message' }
      : { outcome: 'done', value: { id, at: Date.now() } }
  }

  async setPicture(channel: string, image: Buffer | null): Promise<Asked<null>> {
    const phone = this.lines.get(channel)?.phone
    if (!phone) return gone
    if (image === null) return { outcome: 'refused', reason: 'the Graph API has no way to take a picture away' }
    return setPicture(this.client, phone.id, image)
  }

  async setStatus(channel: string, text: string): Promise<Asked<null>> {
    const phone = this.lines.get(channel)?.phone
    if (!phone) return gone
    const profile = { messaging_product: 'whatsapp', about: text }
    const told = repeatable(await this.post(phone, 'whatsapp_business_profile', profile))
    return told.outcome === 'done' ? nothing : told
  }

  /** The newest is enough: those before it are read with it. */
  async markRead(channel: string, _from: unknown, ids: readonly string[]): Promise<Asked<null>> {
    const phone = this.lines.get(channel)?.phone
    if (!phone) return gone
    const id = ids.at(-1)
    if (id === undefined) return nothing
    const read = { messaging_product: 'whatsapp', status: 'read', message_id: id }
    const told = repeatable(await this.post(phone, 'messages', read))
    return told.outcome === 'done' ? nothing : told
  }

  async media(channel: string, id: string): ReturnType<NonNullable<ChatNetwork['media']>> {
    const phone = this.lines.get(channel)?.phone
    return phone ? openMedia(this.client, this.settings, phone.id, id) : gone
  }

  state(): LinkState {
    return this.client.state()
  }

  async close(): Promise<void> {
    this.client.close()
    for (const { timer } of this.lines.values()) if (timer) clearTimeout(timer)
    this.lines.clear()
  }

  private get account(): string {
    return encodeURIComponent(this.settings.business_account_id)
  }

  private post(phone: Phone, what: string, body: object) {
    return this.client.ask({ method: 'POST', path: `${phone.id}/${what}`, body })
  }

  private isAnswering(): boolean {
    return this.client.state().state === 'up'
  }

  private tell({ of: { channel } }: Attached, state: ChatLineState): void {
    this.tools.events.line(channel, state)
  }

  private isOurs(attached: Attached): boolean {
    return this.lines.get(attached.of.channel) === attached
  }

  /** The token is taken no more: every line is at its end until the connection's settings are changed. */
  private refused(reason: string): void {
    this.refusal = reason
    for (const attached of this.lines.values()) this.fail(attached, `the access token is refused: ${reason}`)
  }

  private fail(attached: Attached, reason: string): void {
    if (attached.timer) clearTimeout(attached.timer)
    attached.phone = null
    this.tell(attached, { phase: 'failed', reason, fatal: true })
  }

  /** One list for all lines that begin at about the same time. */
  private phones(): Promise<Asked<readonly Phone[]>> {
    if (!this.listed || performance.now() - this.listed.at > listMs) {
      const phones = listPhones(this.client, this.settings.business_account_id)
      this.listed = { at: performance.now(), phones }
    }
    return this.listed.phones
  }

  private async link(attached: Attached): Promise<void> {
    const told = await this.phones()
    if (!this.isOurs(attached)) return
    if (told.outcome !== 'done') {
      this.listed = null
      if (this.refusal === null) this.again(attached, told)
      return
    }
    this.refusal = null
    const { number } = attached.of
    const phone = told.value.find(({ digits }) => `+${digits}` === number)
    if (!phone) return this.fail(attached, `the business account has no number ${number}`)
    attached.phone = phone
    this.tell(attached, {
      phase: 'connected',
      reason: 'the business account has the number',
      fatal: false,
      me: { ...(phone.name === null ? {} : { pushname: phone.name }), server: `${phone.digits}@c.us`, business: true },
    })
  }

  private again(attached: Attached, told: Exclude<Asked<unknown>, { outcome: 'done' }>): void {
    const grown = Math.min(longest, shortest * 2 ** attached.attempts++)
    const least = told.outcome === 'later' ? Math.min(longest, told.seconds * 200) : 0
    const wait = Math.max(least, grown * (0.5 + Math.random() / 2))
    this.tell(attached, { phase: 'disconnected', reason: told.reason, fatal: false })
    attached.timer = setTimeout(() => void this.link(attached), wait)
  }
}
