import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { startVoicePlatform } from '../../src/domains/calls/call-testing.ts'
import type { Screen } from '../firefox-page.ts'
import { longForm, needs } from '../needs.ts'
import { goodPassword } from '../persons.ts'
import { until } from '../platform.ts'
import { openFirefoxConsole } from './firefox-fixture.ts'
import { joinPlatform, type Member, soundMeter } from './fixture.ts'

// Walks of the console in Debian's Firefox, over the carriers and handsets of the sandbox. The other tests of this folder
// say more, in Chromium. Walks without a part that browsers do in ways of their own are of the long form.

/** Runs in each page: counts the packets of sound that calls receive. */
const countSound = soundMeter('packetsReceived')

const thread = (page: Screen) => page.role('log', 'Messages')
const inThread = (page: Screen, text: string | RegExp) => thread(page).text(text).isShown()
const box = (page: Screen) => page.role('textbox', /^Reply to/)
const rowOf = (page: Screen, text: RegExp) => page.role('region', 'Conversations').role('link', text)
const bar = (page: Screen) => page.role('region', 'Telephone')

/** The vertical distance in pixels between an open menu and its button. */
const distanceToButton = `([menu]) => {
  const [own, button] = [menu, document.querySelector('[popovertarget="' + menu.id + '"]')].map((each) =>
    each.getBoundingClientRect())
  return Math.max(own.top - button.bottom, button.top - own.bottom, own.left - button.right, button.left - own.right)
}`

/** Asserts that a page fits a telephone without scrolling sideways. */
const fitsPhone = async (page: Screen): Promise<void> => {
  await page.resize(360, 740)
  await page.sees('document.documentElement.scrollWidth <= 360')
  await page.resize(1440, 900)
}

describe('the console in Firefox', needs('firefox-esr'), async () => {
  const platform = await startVoicePlatform()
  after(() => platform.end('SIGKILL'))
  const { call } = platform
  const { open, signIn, allow } = await openFirefoxConsole(platform.url, countSound)

  let number = ''
  let ruth: Member
  let linus: Member

  const write = async (handset: string, text: string, to = number): Promise<void> => {
    assert.equal((await call('POST', `/sandbox/handsets/${handset}/sms`, { to, text })).status, 202)
  }
  const received = async (handset: string): Promise<string[]> =>
    (await call('GET', `/sandbox/handsets/${handset}`)).body.sms
      .filter(({ direction }: { direction: string }) => direction === 'inbound')
      .map(({ text }: { text: string }) => text)
  const conversationWith = (handset: string): Promise<{ uuid: string }> =>
    until(async () => {
      const { conversations } = (await call('GET', '/open/conversations')).body
      return conversations.find(({ counterpart }: { counterpart: string }) => counterpart === handset)
    })
  /** Lets a handset write, and opens its conversation as an agent. */
  const opened = async (agent: Member, handset: string, text: string): Promise<Screen> => {
    await write(handset, text)
    const page = await signIn(agent, `/inbox/all/${(await conversationWith(handset)).uuid}`)
    await inThread(page, text)
    return page
  }

  test('claim and first-text: the printed link leads to the first number, text and receipt', async () => {
    const [, link = ''] = /(\/console\/claim#\S+)/.exec(platform.output()) ?? []
    const page = await open(link)
    await page.role('textbox', 'Your name').fill('Ada Example')
    await page.role('textbox', 'Email').fill('ada.example@example.com')
    await page.label('Password').fill(goodPassword)
    await page.press('Enter')
    await page.isAt(/\/start$/)
    await page.role('button', 'Buy it here').click()
    await page.text(/Your number is \+44 7/).isShown()
    await page.role('textbox', 'Text').fill('It works')
    await page.text('Price: $0.04').isShown()
    await page.role('button', 'Send it here').click()
    await page.role('region', 'Handset +44 7700 900123').text('It works').isShown()
    await page.text('Delivered to +44 7700 900123').isShown()
    await page.role('list', 'Timeline of the text').text('0.04 USD was charged').isShown()
    assert.deepEqual(await received('+447700900123'), ['It works'])
    const [channel] = (await call('GET', '/open/sms/channels')).body.channels
    number = channel.phone_number
    const second = await open(link)
    await second.text('This installation is set up already').isShown()
  })

  test('sign-in-and-out: a wrong password is refused, the right one leads to the page of the link', async () => {
    ruth = await joinPlatform(platform, 'Ruth Asawa', 'admin')
    linus = await joinPlatform(platform, 'Linus Berg')
    const page = await open(`/console/${ruth.account}/developers/keys`)
    await page.role('heading', 'Sign in').isShown()
    await page.label('Email').fill('ruth.walk@example.com')
    await page.label('Password').fill('not the password')
    allow(/^401 /)
    await page.press('Enter')
    await page.role('alert').text('The email or password is wrong').isShown()
    await page.label('Password').fill(goodPassword)
    await page.role('button', 'Sign in').click()
    await page.role('heading', 'API keys').isShown()
    await page.role('button', 'Ruth Asawa: your menu').click()
    await page.role('button', 'Sign out').click()
    await page.role('heading', 'Sign in').isShown()
  })

  test('first-number: a British mobile number is chosen, held and bought, and rings a person', async () => {
    const page = await signIn(ruth, '/numbers')
    await page.role('link', 'Buy a number').click()
    await page.role('searchbox', 'Find a country').fill('kingdom')
    await page.role('link', /United Kingdom/).click()
    await page.role('combobox', 'Type').choose('Mobile')
    const groups = page.role('table', 'Groups of numbers in United Kingdom')
    await groups.role('cell', /^Mobile/).isShown()
    await groups.role('rowheader').role('link').click()
    await page.role('radio').click()
    await page.role('button', 'Hold for 30 minutes').click()
    await page.role('region', 'Held numbers').role('timer').isShown()
    const checkout = page.role('complementary', 'Your number')
    await checkout.label('Name').fill('Front desk')
    await checkout.label('Rings').choose('Ruth Asawa')
    await checkout.role('button', /^Buy now for/).press('Enter')
    await page.text('Rings Ruth Asawa').isShown()
    await fitsPhone(page)
    const { numbers } = (await call('GET', '/open/voip/virtual-numbers')).body
    const own = numbers.find(({ friendly_name }: { friendly_name: string }) => friendly_name === 'Front desk')
    assert.equal(own.inbound_user_uuid, ruth.user)
  })

  test('answer-a-text: both agents see a text, one answers, and its delivery is seen without a reload', async () => {
    const handset = '+447700900131'
    const first = await signIn(ruth, '/inbox')
    const second = await signIn(linus, '/inbox')
    await first.isAt(/\/inbox\/mine-and-unassigned$/)
    await write(handset, 'Is my number ported yet?')
    await rowOf(second, /Is my number ported/).isShown()
    await rowOf(first, /Is my number ported/).click()
    await inThread(first, 'Is my number ported yet?')
    await box(first).fill('It will be on Monday.')
    await first.text('$0.04').isShown()
    await box(first).press('Enter')
    await inThread(first, 'It will be on Monday.')
    await inThread(first, 'delivered')
    assert.deepEqual(await received(handset), ['It will be on Monday.'])
    await rowOf(second, /We: It will be on Monday/).isShown()
    assert.equal(await thread(first).text('It will be on Monday.').count(), 1, 'shown once')
    await first.reload()
    await inThread(first, 'It will be on Monday.')
    await fitsPhone(first)
  })

  test('one-thread: SMS, app and calls of a number are one conversation, answered by each', async () => {
    const handset = '+447700900132'
    await write(handset, 'First by SMS')
    const app = (await call('GET', '/open/msgapp/get-numbers')).body.numbers[0]
    const wrote = { to: app.phone_number, text: 'Then by the app' }
    assert.equal((await call('POST', `/sandbox/handsets/${handset}/msgapp`, wrote)).status, 202)
    assert.equal((await call('POST', `/sandbox/handsets/${handset}/calls`, { to: number })).status, 202)
    const { uuid } = await conversationWith(handset)
    const page = await signIn(ruth, `/inbox/all/${uuid}`)
    await inThread(page, 'First by SMS')
    await inThread(page, 'Then by the app')
    await inThread(page, /Missed call|Ringing|Call answered/)
    for (const [kind, text] of [
      ['App', 'By the app'],
      ['SMS', 'By SMS'],
    ] as const) {
      await page.role('button', /^Send by/).click()
      assert.ok((await page.role('menu').read<number>(distanceToButton)) < 16, 'the menu opens at its button')
      await page.role('menuitemradio', new RegExp(`^${kind}`)).click()
      await box(page).fill(text)
      await box(page).press('Enter')
      await inThread(page, text)
    }
    await until(async () => (await received(handset)).includes('By SMS'))
    const { msgapp } = (await call('GET', `/sandbox/handsets/${handset}`)).body
    assert.ok(JSON.stringify(msgapp).includes('By the app'), 'the app answered by the app')
  })

  test('note-mention-assign: a mention is found, and an assignment is seen in every browser', async () => {
    const handset = '+447700900133'
    const a = await opened(ruth, handset, 'I need an invoice')
    await a.role('tab', 'Note').click()
    const note = a.role('textbox', 'Note for colleagues')
    await note.focus()
    await a.type('@Lin')
    await a
      .role('listbox')
      .role('option', /Linus Berg/)
      .isShown()
    await a.press('Enter')
    await a.type('can you do this?')
    await a.role('button', 'Add note').click()
    await thread(a).role('region', 'Note by Ruth Asawa').text('can you do this?').isShown()
    const b = await signIn(linus, '/inbox/mentions')
    await rowOf(b, /I need an invoice/).isShown()
    await b.goto((await b.url()).replace(/mentions.*/, 'mine'))
    await b.text('All done').isShown()
    await a.role('button', 'Assign').click()
    await a.role('menuitemradio', 'Linus Berg').click()
    await rowOf(b, /I need an invoice/).isShown()
    await inThread(a, 'You assigned the conversation to Linus Berg')
    await a.label('Assigned to').choose('Nobody')
    await b.text('All done').isShown()
    assert.deepEqual(await received(handset), [])
  })

  test(
    'snooze-until-reply: a snoozed conversation is away, and comes back with the next text',
    longForm(),
    async () => {
      const handset = '+447700900134'
      const page = await opened(ruth, handset, 'I will think about it')
      await page.role('button', 'Snooze').click()
      await page.role('menuitem', /Until they reply/).click()
      // The page shows it at once. The message comes when the server has it.
      await page.role('region', 'Messages').text('Snoozed until they reply').isShown()
      await page.goto((await page.url()).replace(/inbox\/.*/, 'inbox/snoozed'))
      await rowOf(page, /I will think about it/).isShown()
      await write(handset, 'I have decided')
      await rowOf(page, /I will think about it/).isGone()
      await page.goto((await page.url()).replace('snoozed', 'mine-and-unassigned'))
      await rowOf(page, /I have decided/).isShown()
    },
  )

  test(
    'search-everything: spellings of a number and a pasted id lead from the palette to the timeline',
    longForm(),
    async () => {
      const [message] = (await call('GET', '/open/sms/messages?contact_number=%2B447700900123')).body.messages
      const page = await signIn(ruth, '/logs')
      await page.role('heading').isShown()
      const field = page.role('dialog').role('combobox')
      for (const spelling of ['+447700900123', '07700 900123']) {
        await page.press('Control+k')
        await field.fill(spelling)
        await page
          .role('group', 'Messages')
          .role('option', /900123/)
          .isShown()
        await page.press('Escape')
        await field.isGone()
      }
      await page.press('Control+k')
      await field.fill(message.uuid)
      await page.role('option', /900123/).isShown()
      await page.press('Enter')
      await page.role('heading', /Message to/).isShown()
      assert.match(await page.url(), new RegExp(`/logs/messages/${message.uuid}$`))
    },
  )

  test('incoming-call: it rings in the page, is answered by keys, and both sides hear each other', async () => {
    const handset = '+447700900135'
    const numbers = (await call('GET', '/open/voip/virtual-numbers')).body.numbers
    const own = numbers.find(({ inbound_user_uuid: user }: { inbound_user_uuid: string }) => user === ruth.user)
    const page = await signIn(ruth, '/calls')
    await page.role('button', 'Telephone').click()
    await page.role('dialog').text('Ready for calls').isShown()
    await page.press('Escape')
    await page.role('dialog').isGone()
    const rung = await call('POST', `/sandbox/handsets/${handset}/calls`, { to: own.phone_number })
    assert.equal(rung.status, 202, JSON.stringify(rung.body))
    await bar(page).text('Incoming call').isShown()
    await page.press('Alt+a')
    await bar(page).text('In a call').isShown()
    await page.sees('await heard() > 50')
    await bar(page).role('button', 'Note').click()
    await bar(page).label('Note about the call').fill('She asks for a parcel')
    await page.press('Alt+x')
    await bar(page).text('Call ended').isShown()
    await fitsPhone(page)
    await bar(page).role('button', 'Save note').click()
    await page.role('region', 'Messages').text('The note was saved').isShown()
    const tones: { hertz: number; seconds: number }[] = await until(async () => {
      const ended = (await call('GET', `/sandbox/handsets/${handset}`)).body.calls.at(-1)
      return ended.state === 'completed' && ended.tones
    })
    assert.ok(
      tones.some(({ hertz, seconds }) => Math.abs(hertz - 1_000) < 20 && seconds > 0.5),
      JSON.stringify(tones),
    )
  })
})
