import { e164 } from '@trunkline/phone/phone.ts'
import {
  type AcceptedMessage,
  acceptMessage,
  fetchFiles,
  priceOf,
  sendFetched,
  sendTimeOf,
} from '../../../domains/sms/ops.ts'
import { mayBeCommitted } from '../../../platform/db/unavailability.ts'
import { routeHotPathWithRarePreparation } from '../../../platform/http/endpoint.ts'
import { Problem, refuse } from '../../../platform/http/problem.ts'
import { limiterKeyOf, runInTurn } from '../../../platform/http/request-limiters.ts'
import { decimal, dollars } from '../../../platform/lib/money.ts'
import type { Services } from '../../../services.ts'
import { checkAddresses } from '../address-check.ts'
import { maxBodyLength } from '../limits.ts'
import { refusals } from '../refusals.ts'
import * as c from './contract.ts'
import { type PresentedMessage, presentMessage } from './presenter.ts'

type NewMessage = {
  readonly To?: string
  readonly From?: string
  readonly Body?: string
  readonly MediaUrl?: readonly string[]
  readonly StatusCallback?: string
  readonly ValidityPeriod?: number
  readonly SendAt?: string
  readonly ScheduleType?: string
  readonly MaxPrice?: number
}

/** Reads recipient, sender and text, in the order in which Twilio checks them. @throws Problem 400 */
const readMessage = ({ To: to = '', From: from = '', Body: text = '', MediaUrl: media = [] }: NewMessage) => {
  if (to.trim() === '') throw refusals.noRecipient()
  if (from.trim() === '') throw refusals.noSender()
  const recipient = e164(to.trim()) ?? refuse(refusals.badRecipient(to))
  const sender = e164(from.trim()) ?? refuse(refusals.badSender(from))
  if (text === '' && media.length === 0) throw refusals.noBody()
  if (text.length > maxBodyLength) throw refusals.bodyTooLong(maxBodyLength)
  return { to: recipient, from: sender, text }
}

/** Reads the time at which a message is sent. @throws Problem 400 */
const readSendAt = (clock: Services['clock'], { SendAt: at, ScheduleType: type }: NewMessage): Date | null => {
  if (!at && !type) return null
  if (type !== 'fixed') throw refusals.badScheduleType()
  if (!at) throw refusals.noSendAt()
  const [, time, zone = 'Z'] = /^(\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?)(Z|[+-]\d\d:?\d\d)?$/.exec(at) ?? []
  // Without a zone it is in UTC, whatever the zone of this machine.
  if (time === undefined || Number.isNaN(Date.parse(time + zone))) throw refusals.badSendAt()
  try {
    return sendTimeOf(clock, time + zone)
  } catch (error) {
    throw error instanceof Problem ? refusals.badSendAt() : error
  }
}

/**
 * Returns the row of a message that was just accepted, without reading it: that would halve the rate. The database's clock
 * may differ from this process's by less than a second.
 */
const newRow = (
  clock: Services['clock'],
  { from, to, text }: ReturnType<typeof readMessage>,
  sendAt: Date | null,
  { id, fragments }: AcceptedMessage,
  media: readonly string[],
): PresentedMessage => {
  const now = new Date(clock.now())
  const status = sendAt === null ? 'queued' : 'scheduled'
  return {
    ...{ id, direction: 'outbound', number: from, contact: to, text, fragments, price: '0', status },
    ...{ error_code: null, created_at: now, updated_at: now, media_ids: media.length > 0 ? [...media] : null },
  }
}

/** Sends a message. Without a callback and a validity it takes the batched path of the native interface. */
export const createMessageRoute = (parts: Services) => {
  const { db, clock, outbound, limiters } = parts
  const mediaOf = ({ MediaUrl: media = [] }: NewMessage) => media
  return routeHotPathWithRarePreparation(
    c.createMessage,
    ({ body }) => Boolean(body.StatusCallback) || mediaOf(body).length > 0,
    async ({ account, body, isSandbox }) => {
      await checkAddresses(outbound.of(isSandbox), body, ['StatusCallback'], refusals.badUrl)
      const check = () => {
        readSendAt(clock, body)
        return readMessage(body)
      }
      return mediaOf(body).length > 0 ? await fetchFiles(parts, account, { urls: mediaOf(body), check }) : null
    },
    async ({ account, body, tx, prepared: media = null, request, reply }) => {
      const message = readMessage(body)
      const sendAt = readSendAt(clock, body)
      if (body.MaxPrice !== undefined) {
        const price = priceOf(parts, account, { ...message, isMms: media !== null })
        if (dollars(price) > body.MaxPrice) throw refusals.tooExpensive(decimal(price))
      }
      const callbackUrl = body.StatusCallback || null
      const validSeconds = body.ValidityPeriod ?? null
      const outgoing = { ...message, sendAt, callbackUrl, validSeconds }
      const isPlain = callbackUrl === null && validSeconds === null
      const inTurn = (work: () => Promise<AcceptedMessage>) =>
        tx === null ? runInTurn(limiters.database, limiterKeyOf(request), reply, work) : work()
      const accept = (): Promise<AcceptedMessage> => {
        if (media !== null) return inTurn(() => sendFetched(parts, tx, account, outgoing, media))
        if (tx !== null || isPlain) return acceptMessage(parts, tx, account, outgoing)
        return inTurn(() => db.begin((own) => acceptMessage(parts, own, account, outgoing)))
      }
      const accepted = await accept().catch((error: unknown) => {
        // With an Idempotency-Key a repetition is harmless, and its transaction ends later.
        throw tx === null && mayBeCommitted(error) ? refusals.maybeAccepted() : error
      })
      return presentMessage(account.id, newRow(clock, message, sendAt, accepted, media?.uploads ?? []))
    },
  )
}
