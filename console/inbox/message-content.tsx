import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { api } from '../api/client.ts'
import { asApiError } from '../api/errors.ts'
import { may } from '../api/session.ts'
import type { IconName } from '../icons/names.ts'
import { Button, ButtonLink } from '../parts/button.tsx'
import { Icon } from '../parts/icon.tsx'
import { showToast } from '../parts/toast.tsx'
import { paths } from '../paths.ts'
import { words as texts } from '../words/en/message-content.ts'
import { money, number } from '../words/format.ts'
import type { MessageContent, StructuredProps } from './structured-props.ts'

type Of<K extends MessageContent['kind']> = Extract<MessageContent, { kind: K }>
type ContactCard = Of<'contacts'>['contacts'][number]

/** Contact cards, products and answers that a bubble shows at once. */
const shownEntries = 20

const KindLine = ({ icon, children }: { icon: IconName; children: ComponentChildren }) => (
  <p class="content-kind">
    <Icon name={icon} /> <span>{children}</span>
  </p>
)

/** Shows a message of the thread: it is scrolled to where it is loaded, else its part of the thread is loaded. */
const showQuoted = (event: MouseEvent, uuid: string): void => {
  const item = document.getElementById(uuid)
  if (!item) return
  event.preventDefault()
  // The router would load the part of the thread again.
  event.stopPropagation()
  item.scrollIntoView({ block: 'center' })
  item.classList.remove('is-marked')
  void item.offsetWidth
  item.classList.add('is-marked')
  item.tabIndex = -1
  item.focus({ preventScroll: true })
}

const addressOf = (uuid: string): string => {
  const search = new URLSearchParams(location.search)
  search.set('item', uuid)
  return `${location.pathname}?${search}`
}

const Quote = ({
  quoted: { message_uuid: uuid, text, sent_by: by },
  author,
}: {
  quoted: NonNullable<MessageContent['quoted']>
  author: string | undefined
}) => {
  if (uuid === undefined) return <p class="content-quote is-missing">{texts.quotedMissing}</p>
  const title = by !== 'user' ? texts.quotedOurs : author === undefined ? texts.quoted : texts.quotedOf(author)
  return (
    <a class="content-quote" href={addressOf(uuid)} onClick={(event) => showQuoted(event, uuid)}>
      <span class="content-kind">
        <Icon name="reply" /> <bdi>{title}</bdi>
      </span>
      <span class="content-words" dir="auto">
        {text ?? texts.quotedFile}
      </span>
    </a>
  )
}

/** Addresses of other schemes than the Web’s are not followed. */
const isWeb = (url: string | undefined): url is string => url !== undefined && /^https?:\/\//i.test(url)

const Away = ({ href, children }: { href: string; children: ComponentChildren }) => (
  <a href={href} target="_blank" rel="noreferrer noopener">
    {children}
  </a>
)

const Referral = ({
  of: { source_type, source_url, headline, body },
}: {
  of: NonNullable<MessageContent['referral']>
}) => (
  <div class="content-aside">
    <KindLine icon="external-link">{source_type === 'post' ? texts.post : texts.ad}</KindLine>
    {headline && <strong dir="auto">{headline}</strong>}
    {body && <span dir="auto">{body}</span>}
    {isWeb(source_url) && <Away href={source_url}>{texts.open}</Away>}
  </div>
)

const Location = ({ of: { latitude, longitude, name, address } }: { of: Of<'location'> }) => (
  <div class="content-card">
    <KindLine icon="map-pin">{texts.location}</KindLine>
    {name && <strong dir="auto">{name}</strong>}
    {address && <span dir="auto">{address}</span>}
    <bdi dir="ltr" class="soft tabular">
      {latitude.toFixed(5)}, {longitude.toFixed(5)}
    </bdi>
    <Away href={`https://www.openstreetmap.org/?mlat=${latitude}&mlon=${longitude}#map=16/${latitude}/${longitude}`}>
      {texts.map}
    </Away>
  </div>
)

/** A number as it is stored: the written one where it is international, else the network's. */
const numberOf = ({ phone, wa_id }: ContactCard['phones'][number]): string =>
  phone.trim().startsWith('+') || wa_id === undefined ? phone : `+${wa_id}`

const cardName = ({ name: { formatted_name, first_name, last_name } }: ContactCard): string =>
  formatted_name ?? [first_name, last_name].filter(Boolean).join(' ')

/** The contact of a card, as a request takes it. */
const contactOf = (card: ContactCard) => ({
  first_name: (card.name.first_name ?? cardName(card)).slice(0, 100) || (card.org?.company ?? texts.card).slice(0, 100),
  ...(card.name.first_name && card.name.last_name ? { last_name: card.name.last_name.slice(0, 100) } : {}),
  contact_details: [
    ...card.phones.map((one) => ({ type: one.wa_id ? ('WAPH' as const) : ('PH' as const), value: numberOf(one) })),
    ...card.emails.map(({ email }) => ({ type: 'E' as const, value: email })),
  ],
})

/** Saves the card, unless a contact has its first number already. @returns the id of the contact */
const save = async (card: ContactCard): Promise<string> => {
  const [phone] = card.phones
  const digits = phone && numberOf(phone).replace(/\D/g, '')
  if (digits) {
    const { contacts } = await api('GET /open/contacts/search', { query: { q: digits } })
    const known = contacts.find(({ details }) => details.some(({ value }) => value.replace(/\D/g, '') === digits))
    if (known) return known.uuid
  }
  return (await api('POST /open/contacts', { body: contactOf(card) })).contact.uuid
}

const SaveContact = ({ card }: { card: ContactCard }) => {
  const [contact, setContact] = useState<string>()
  const [isBusy, setBusy] = useState(false)
  const [fault, setFault] = useState<string>()
  if (contact !== undefined)
    return (
      <ButtonLink size="small" icon="check" href={paths.contact({ contact })}>
        {texts.openContact}
      </ButtonLink>
    )
  const onClick = async () => {
    if (isBusy) return
    setBusy(true)
    try {
      setContact(await save(card))
      showToast(texts.saved)
    } catch (thrown) {
      setFault(asApiError(thrown).message)
    }
    setBusy(false)
  }
  const [phone] = card.phones
  return (
    <div class="content-card">
      <div class="row">
        <Button size="small" icon="user-plus" busy={isBusy} onClick={() => void onClick()}>
          {texts.save}
        </Button>
        {fault && phone && (
          <ButtonLink size="small" kind="quiet" href={paths.contacts({}, { create: numberOf(phone) })}>
            {texts.fillIn}
          </ButtonLink>
        )}
      </div>
      {fault && <p role="alert">{fault}</p>}
    </div>
  )
}

const Card = ({ of: card }: { of: ContactCard }) => {
  const { phones, emails, org } = card
  const company = [org?.company, org?.department, org?.title].filter(Boolean).join(', ')
  return (
    <div class="content-card">
      <KindLine icon="user">{texts.card}</KindLine>
      <strong dir="auto">{cardName(card)}</strong>
      {company && (
        <span class="soft" dir="auto">
          {company}
        </span>
      )}
      {phones.map(({ phone, type }, index) => (
        <span key={index}>
          <bdi dir="ltr" class="tabular">
            {phone}
          </bdi>{' '}
          {type && <bdi class="soft">{type.toLowerCase()}</bdi>}
        </span>
      ))}
      {emails.map(({ email }, index) => (
        <bdi key={index}>{email}</bdi>
      ))}
      {may('inbox') && phones.length + emails.length > 0 && <SaveContact card={card} />}
    </div>
  )
}

/** The number of entries beyond those that are shown. */
const More = ({ count }: { count: number }) => (count > 0 ? <p class="soft">{texts.more(count)}</p> : null)

const Cards = ({ of: { contacts } }: { of: Of<'contacts'> }) => (
  <>
    {contacts.slice(0, shownEntries).map((card, index) => (
      <Card key={index} of={card} />
    ))}
    <More count={contacts.length - shownEntries} />
  </>
)

const price = (amount: number, currency: string | undefined): string =>
  currency !== undefined && /^[A-Za-z]{3}$/.test(currency) ? money(String(amount), { currency }) : number(amount)

/** The total of an order in one currency; null if prices are missing or in several. */
const totalOf = ({ products }: Of<'order'>): string | null => {
  const [first] = products
  if (!first || products.length < 2) return null
  const isWhole = products.every((one) => one.item_price !== undefined && one.currency === first.currency)
  const sum = products.reduce((total, { item_price = 0, quantity = 1 }) => total + item_price * quantity, 0)
  return isWhole ? price(Math.round(sum * 100) / 100, first.currency) : null
}

const Order = ({ of }: { of: Of<'order'> }) => {
  const { products, text } = of
  const total = totalOf(of)
  return (
    <div class="content-card">
      <KindLine icon="receipt">{texts.order(products.length)}</KindLine>
      <div class="content-lines">
        {products
          .slice(0, shownEntries)
          .flatMap(({ product_retailer_id, quantity = 1, item_price, currency }) => [
            <bdi>{texts.ordered(number(quantity), product_retailer_id ?? texts.item)}</bdi>,
            <span class="tabular">{item_price === undefined ? '' : price(item_price * quantity, currency)}</span>,
          ])}
        {total !== null && [
          <span class="content-total">{texts.total}</span>,
          <span class="content-total tabular">{total}</span>,
        ]}
      </div>
      <More count={products.length - shownEntries} />
      {text && <p dir="auto">{text}</p>}
    </div>
  )
}

const shownAnswer = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))

/** The token is the platform's own mark of a form. */
const Flow = ({ of: { name, body, answers = {}, response_json } }: { of: Of<'flow'> }) => {
  const entries = Object.entries(answers).filter(([field]) => field !== 'flow_token')
  return (
    <div class="content-card">
      <KindLine icon="list">{texts.form}</KindLine>
      {(body ?? name) && <strong dir="auto">{body ?? name}</strong>}
      <dl class="content-answers">
        {entries
          .slice(0, shownEntries)
          .flatMap(([field, value]) => [
            <dt dir="auto">{field.replaceAll('_', ' ')}</dt>,
            <dd dir="auto">{shownAnswer(value)}</dd>,
          ])}
      </dl>
      <More count={entries.length - shownEntries} />
      {response_json && <p dir="auto">{response_json}</p>}
    </div>
  )
}

const Choice = ({ kind, title, description }: { kind: string; title: string; description?: string | undefined }) => (
  <div class="content-card">
    <KindLine icon="circle-check">{kind}</KindLine>
    <strong dir="auto">{title}</strong>
    {description && (
      <span class="soft" dir="auto">
        {description}
      </span>
    )}
  </div>
)

/** The content itself; `plain` where the text says it all. */
const Body = ({ content, plain }: Pick<StructuredProps, 'content' | 'plain'>) => {
  switch (content.kind) {
    case 'button':
      return <Choice kind={texts.pressed} title={content.text ?? content.payload ?? ''} />
    case 'reply':
      return <Choice kind={texts.chosen} title={content.title ?? content.id} description={content.description} />
    case 'flow':
      return <Flow of={content} />
    case 'contacts':
      return <Cards of={content} />
    case 'order':
      return <Order of={content} />
    case 'location':
      return (
        <>
          <Location of={content} />
          {plain}
        </>
      )
    case 'unsupported':
      return <KindLine icon="info">{texts.unsupported(content.type)}</KindLine>
    default:
      return <>{plain}</>
  }
}

/** A message with structured content: what it refers to, and then what it is. */
export const StructuredMessage = ({ content, author, plain }: StructuredProps) => {
  const { quoted, product, referral } = content
  const id = product?.product_retailer_id ?? product?.catalog_id
  return (
    <>
      {quoted && <Quote quoted={quoted} author={author} />}
      {id !== undefined && (
        <div class="content-aside">
          <KindLine icon="tag">
            <bdi>{texts.product(id)}</bdi>
          </KindLine>
        </div>
      )}
      {referral && <Referral of={referral} />}
      <Body content={content} plain={plain} />
    </>
  )
}
