import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { contact, giveNumber, makeSmsWorld, withSmscs } from '../sms-testing.ts'

// Tests national language shift tables against an independent carrier that reads the Turkish, Spanish and Portuguese
// ones.

const world = await makeSmsWorld()
const { call, change, connect, waitForStatus, send, tenant } = world
after(world.stop)

const sentence =
  'Değerli müşterimiz, siparişiniz kargoya verildi. Şubeden teslim alabilirsiniz. İyi günler dileriz, mağazanız. '
const turkish = { one: sentence, three: sentence.repeat(4).trim() }
const spanish = 'Información: su envío llegará mañana. ¿Está en casa? Confírmelo aquí, así será más rápido. Gracias'
const portuguese =
  'Olá! A sua encomenda está pronta para levantamento na nossa loja até amanhã, das 9 às 18 horas. Não falte'

const make = async () => {
  const who = await tenant()
  const { number } = await giveNumber(world, who)
  const preview = async (text: string) =>
    (await call(who, 'POST', '/open/sms/preview', { to_number: contact, text })).body
  const go = async (text: string) => {
    const { body } = await send(who, number, text)
    return waitForStatus(who, body.message_uuid, 'sent')
  }
  return { who, number, preview, go }
}

test(
  'a message uses shift tables if they need fewer parts than UCS-2, and the parts sent are the parts charged',
  withSmscs(world, 1, async ([smsc]) => {
    assert.ok(smsc)
    await connect('tables', smsc, { national_languages: ['turkish', 'spanish', 'portuguese'] })
    const { go } = await make()
    for (const [text, parts] of [
      [turkish.one, 1],
      [turkish.three, 3],
      [spanish, 1],
      [portuguese, 1],
    ] as const) {
      const before = smsc.submits.length
      const message = await go(text)
      const sent = smsc.submits.slice(before)
      assert.equal(sent.map((one) => one.text).join(''), text)
      assert.deepEqual(new Set(sent.map(({ dataCoding }) => dataCoding)), new Set([0]))
      assert.deepEqual([sent.length, message.fragments, message.price], [parts, parts, parts * 0.04])
    }
    // Shift tables save no part for either text.
    for (const [text, coding] of [
      ['Hello', 0],
      ['Teşekkürler', 8],
    ] as const) {
      await go(text)
      assert.deepEqual([smsc.submits.at(-1)?.text, smsc.submits.at(-1)?.dataCoding], [text, coding])
    }
  }),
)

test(
  'shift tables are used only if every carrier for the destination supports them',
  withSmscs(world, 2, async ([first, second]) => {
    assert.ok(first && second)
    await connect('plain', first)
    await connect('tables', second, { national_languages: ['turkish'], priority: 1 })
    const { go } = await make()
    const message = await go(turkish.one)
    assert.deepEqual(new Set(second.submits.map(({ dataCoding }) => dataCoding)), new Set([8]))
    assert.deepEqual([second.submits.length, message.fragments], [2, 2])
  }),
)

test(
  'a message accepted for shift tables that no carrier supports any more goes in UCS-2 at the accepted price',
  withSmscs(world, 1, async ([smsc]) => {
    assert.ok(smsc)
    const connection = await connect('tables', smsc, { national_languages: ['turkish'] })
    const { who, number } = await make()
    const send_at = new Date(world.parts.clock.now() + 3_600_000).toISOString()
    const { body } = await send(who, number, turkish.one, { send_at })
    await change(connection, { settings: { national_languages: null } })
    await world.parts.routing.ready()
    await world.advance(3_601)
    const message = await waitForStatus(who, body.message_uuid, 'sent')
    const taken = smsc.submits.filter(({ dataCoding }) => dataCoding === 8)
    assert.equal(taken.map(({ text }) => text).join(''), turkish.one)
    assert.deepEqual([message.fragments, message.price], [1, 0.04])
  }),
)
