import { useLocation } from 'preact-iso/router'
import { useAct, useQuery } from '../api/query.ts'
import { Banner } from '../parts/banner.tsx'
import { Button } from '../parts/button.tsx'
import { type Fact, KeyValue, Section } from '../parts/page.tsx'
import { ErrorState, Skeleton } from '../parts/page-states.tsx'
import { Status, type Tone } from '../parts/status.tsx'
import { showToast } from '../parts/toast.tsx'
import { Copy, CopyButton, Moment, PhoneNumber } from '../parts/values.tsx'
import { type PageOf, paths } from '../paths.ts'
import { Page } from '../shell/section-page.tsx'
import { words } from '../words/en/contacts.ts'
import { fullName, shortDay } from '../words/format.ts'
import { Avatar } from './avatar.tsx'
import { ContactActs } from './contact-acts.tsx'
import {
  type Contact,
  contactFields,
  type Detail,
  isNumber,
  labelText,
  otherFields,
  staleLists,
} from './contact-details.ts'
import { ContactForm } from './contact-form.tsx'
import { History } from './history.tsx'

const Value = ({ detail }: { detail: Detail }) => {
  if (isNumber(detail)) return <PhoneNumber number={detail.value} />
  if (detail.type === 'E')
    return (
      <a href={`mailto:${detail.value}`}>
        <bdi>{detail.value}</bdi>
      </a>
    )
  return <span dir="auto">{detail.value}</span>
}

const Details = ({ contact }: { contact: Contact }) => (
  <ul class="contact-values">
    {contact.details.map((detail) => (
      <li key={detail.id}>
        <span class="soft contact-kind">{words.kinds[detail.type]}</span>
        <span class="contact-value">
          <Value detail={detail} />
          {detail.extension && <bdi> {detail.extension}</bdi>}
          {detail.label && (
            <span class="soft" dir="auto">
              {' '}
              {labelText(detail.label)}
            </span>
          )}
        </span>
        <CopyButton text={detail.value} what={detail.value} />
      </li>
    ))}
  </ul>
)

const syncTones: Readonly<Record<NonNullable<Contact['sync']>['state'], Tone>> = {
  queued: 'info',
  synced: 'good',
  failed: 'bad',
  not_supported: 'neutral',
}

/** The copy in the address book of a channel. A new attempt takes the contact out and puts it in again. */
const Sync = ({
  contact,
  channel,
  sync,
}: {
  contact: Contact
  channel: string
  sync: NonNullable<Contact['sync']>
}) => {
  const change = useAct('PUT /open/contacts/:contact_uuid', {
    stale: staleLists,
    onError: ({ message }) => showToast(message, 'bad'),
  })
  const params = { contact_uuid: contact.uuid }
  const again = async () => {
    if (await change({ params, body: { channel_uuid: null } }))
      await change({ params, body: { channel_uuid: channel } })
  }
  return (
    <div class="stack stack-close">
      <span class="row">
        <Status tone={syncTones[sync.state]}>{words.contact.syncStates[sync.state]}</Status>
        {sync.synced_at && <Moment time={sync.synced_at} />}
      </span>
      {sync.error && <span class="soft">{sync.error}</span>}
      {sync.state === 'failed' && (
        <div>
          <Button size="small" icon="refresh-cw" busy={change.isPending} onClick={() => void again()}>
            {words.contact.syncAgain}
          </Button>
        </div>
      )}
    </div>
  )
}

const factsOf = (contact: Contact): Fact[] => [
  ...otherFields.flatMap((name) =>
    contactFields[name].type === 'text' && contact[name] ? [{ name: words.fields[name], value: contact[name] }] : [],
  ),
  ...(contact.channel_uuid && contact.sync
    ? [
        {
          name: words.contact.sync,
          value: <Sync contact={contact} channel={contact.channel_uuid} sync={contact.sync} />,
        },
      ]
    : []),
  { name: words.contact.created, value: <Moment time={contact.created_at} show="day" /> },
  { name: words.contact.changed, value: <Moment time={contact.last_updated} show="relative" /> },
  { name: words.contact.id, value: <Copy value={contact.uuid} what={words.contact.id} /> },
]

const EditForm = ({ contact, onClose }: { contact: Contact; onClose: () => void }) => {
  const change = useAct('PUT /open/contacts/:contact_uuid', {
    stale: staleLists,
    after: () => {
      onClose()
      showToast(words.contact.saved)
    },
  })
  return (
    <ContactForm
      contact={contact}
      act={words.form.save}
      busy={change.isPending}
      refusal={change.error ?? undefined}
      onCancel={onClose}
      onSave={(fields) => void change({ params: { contact_uuid: contact.uuid }, body: fields })}
    />
  )
}

/** One contact: details that are edited in place, and everything that happened with its numbers. */
export const ContactPage = ({ params, search }: PageOf<typeof paths.contact>) => {
  const { route: go } = useLocation()
  const uuid = params.contact
  const found = useQuery('GET /open/contacts/:contact_uuid', { params: { contact_uuid: uuid }, live: ['contact'] })
  const contact = found.data?.contact
  const isEditing = search.edit !== undefined
  const name = contact ? fullName(contact) : words.contact.details
  return (
    <Page
      key={uuid}
      title={name}
      crumbs={[{ text: words.sectionTitle, href: paths.contacts() }]}
      status={
        contact?.blocked && (
          <Status tone="notice" icon="ban">
            {words.blocked}
          </Status>
        )
      }
      actions={contact && <ContactActs contact={contact} />}
    >
      {contact ? (
        <>
          {contact.blocked_at && (
            <Banner tone="notice" title={words.contact.blockedSince(shortDay(contact.blocked_at, Date.now()))}>
              {words.contact.blockedHint}
            </Banner>
          )}
          <div class="contact-columns">
            <div class="stack stack-wide">
              <Section
                title={words.contact.details}
                actions={
                  !isEditing && (
                    <Button
                      size="small"
                      icon="pencil"
                      onClick={() => go(paths.contact({ contact: uuid }, { edit: '1' }))}
                    >
                      {words.contact.edit}
                    </Button>
                  )
                }
              >
                {isEditing ? (
                  <EditForm contact={contact} onClose={() => go(paths.contact({ contact: uuid }), true)} />
                ) : (
                  <div class="contact-card">
                    <Avatar contact={contact} large />
                    <Details contact={contact} />
                  </div>
                )}
              </Section>
              <Section title={words.contact.facts}>
                <KeyValue facts={factsOf(contact)} />
              </Section>
            </div>
            <History contact={contact} />
          </div>
        </>
      ) : found.error ? (
        <ErrorState refusal={found.error} onRetry={found.refresh} />
      ) : (
        <Skeleton rows={6} />
      )}
    </Page>
  )
}
