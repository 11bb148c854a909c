import { useState } from 'preact/hooks'
import { Banner } from '../../console/parts/banner.tsx'
import { Button, ButtonLink } from '../../console/parts/button.tsx'
import { CheckboxField, CheckboxGroup, RadioField, SelectField } from '../../console/parts/choice-fields.tsx'
import { ConfirmDialog, Dialog, Drawer } from '../../console/parts/dialog.tsx'
import { FileField } from '../../console/parts/file-field.tsx'
import { Form, FormActions, type Refusal } from '../../console/parts/form.tsx'
import { Menu } from '../../console/parts/menu.tsx'
import { KeyValue, Section } from '../../console/parts/page.tsx'
import { Badge, Status, Tag } from '../../console/parts/status.tsx'
import { Tabs } from '../../console/parts/tabs.tsx'
import {
  MoneyField,
  NumberField,
  PasswordField,
  PhoneField,
  TextareaField,
  TextField,
} from '../../console/parts/text-fields.tsx'
import { showToast } from '../../console/parts/toast.tsx'
import { Copy, Country, Flag, Moment, Money, NoValue, PhoneNumber } from '../../console/parts/values.tsx'

export const Controls = () => {
  const [clicks, setClicks] = useState(0)
  return (
    <Section title="Buttons, states and values" lead="One primary button on a page.">
      <div class="row">
        <Button kind="primary" icon="plus" onClick={() => setClicks(clicks + 1)}>
          Buy a number
        </Button>
        <Button onClick={() => setClicks(clicks + 1)}>Plain</Button>
        <Button kind="quiet" icon="filter">
          Quiet
        </Button>
        <Button kind="danger" icon="trash-2">
          Release
        </Button>
        <Button kind="primary" busy>
          Saving
        </Button>
        <Button reason="The balance is too small: add $4.20." onClick={() => setClicks(clicks + 100)}>
          Not possible
        </Button>
        <Button pressed>Pressed</Button>
        <Button icon="refresh-cw" iconOnly>
          Reload
        </Button>
        <Button size="small" icon="copy">
          Small
        </Button>
        <ButtonLink href="#docs" external>
          Documentation
        </ButtonLink>
        <output aria-label="Clicks">{clicks}</output>
      </div>
      <div class="row">
        <Status tone="good">Delivered</Status>
        <Status tone="notice">Documents missing</Status>
        <Status tone="bad">Failed</Status>
        <Status tone="info">In transit</Status>
        <Status tone="neutral">Draft</Status>
        <Badge>12</Badge>
        <Badge tone="info">3 new</Badge>
        <Tag name="VIP" hue={1} />
        <Tag name="billing" hue={2} />
        <Tag name="porting" hue={3} />
        <Tag name="support" hue={4} />
        <Tag name="trial" hue={5} />
        <Tag name="churned" hue={6} onRemove={() => undefined} />
        <kbd>Ctrl</kbd>
        <kbd>K</kbd>
      </div>
      <KeyValue
        facts={[
          { name: 'Number', value: <PhoneNumber number="+442079460018" href="#number" /> },
          { name: 'Country', value: <Country code="GB" /> },
          { name: 'Price', value: <Money amount="0.042" /> },
          { name: 'Balance', value: <Money amount="1234.567891" /> },
          { name: 'Refund', value: <Money amount="0.0042" signed /> },
          { name: 'Created', value: <Moment time="2026-11-20T09:14:03Z" show="exact" /> },
          { name: 'Last used', value: <Moment time={Date.now() - 300_000} show="relative" /> },
          { name: 'Message', value: <Copy value="SMO01a1fccab82e4b0f9d3c" what="message id" /> },
          {
            name: 'Recording',
            value: (
              <>
                <NoValue /> <Flag country="DE" />
              </>
            ),
          },
        ]}
      />
      <Tabs
        label="Parts of a number"
        tabs={[
          { text: 'Settings', href: '#settings', current: true },
          { text: 'Documents', href: '#documents', current: false, count: '2' },
          { text: 'Caller IDs', href: '#callers', current: false },
          { text: 'Timeline', href: '#timeline', current: false },
          { text: 'Price', href: '#price', current: false },
        ]}
      />
    </Section>
  )
}

const refused: Refusal = {
  message: 'from_number is not an SMS-capable number of this account. List yours with GET /open/sms/channels.',
  code: 'invalid_request',
  requestId: 'req_8fQkT2x9',
}

const tooShort: Refusal = {
  message: 'The time is too short.',
  requestId: 'req_3nVw8c1b',
  fields: { '/validity/minutes': 'The time is too short.' },
}

export const Fields = () => {
  const [sent, setSent] = useState('')
  const [refusal, setRefusal] = useState<Refusal>()
  const [features, setFeatures] = useState<readonly string[]>(['calls'])
  return (
    <Section title="Form">
      <Form
        label="Message"
        refusal={refusal}
        onSubmit={(values) => {
          setSent(JSON.stringify(values))
          setRefusal(values.validity === '1' ? tooShort : values.from_number === '+442079460018' ? refused : undefined)
        }}
      >
        <SelectField
          name="from_number"
          label="From"
          hint="Numbers of this account that send messages."
          options={[
            { value: '+442079460018', text: 'London desk · +44 207 946 0018' },
            { value: '+4915123456789', text: 'Berlin · +49 151 234 56789' },
            { value: '+12025550123', text: 'Washington', reason: 'US numbers do not send messages' },
          ]}
        />
        <PhoneField name="to_number" label="To" required />
        <TextareaField name="text" label="Text" required maxLength={1600} foot="1 part · GSM-7 · $0.0420" />
        <MoneyField name="limit" label="Most to pay" optional hint="The message is refused when it costs more." />
        <NumberField name="validity" label="Valid for" unit="minutes" initial="60" />
        <TextField
          name="url"
          label="Address of the webhook"
          type="url"
          code
          optional
          fault="Write an address such as https://example.com/hook."
          error="The address must be reached over HTTPS."
          initial="http://example.com/hook"
        />
        <PasswordField name="secret" label="Password" initial="correct horse" />
        <RadioField
          name="type"
          label="Type of number"
          look="cards"
          initial="local"
          options={[
            { value: 'local', text: 'Local', hint: 'Belongs to a city. Calls and messages.' },
            { value: 'mobile', text: 'Mobile', hint: 'Best for messages.' },
            { value: 'toll_free', text: 'Toll-free', reason: 'Not sold in this country' },
          ]}
        />
        <RadioField
          name="direction"
          label="Direction"
          look="row"
          initial="both"
          options={[
            { value: 'in', text: 'Inbound' },
            { value: 'out', text: 'Outbound' },
            { value: 'both', text: 'Both' },
          ]}
        />
        <CheckboxGroup
          name="features"
          label="What it can do"
          values={features}
          onChange={setFeatures}
          options={[
            { value: 'calls', text: 'Calls' },
            { value: 'sms', text: 'Messages', hint: 'In and out' },
          ]}
        />
        <CheckboxField
          name="record"
          label="Record calls"
          hint="Ask a lawyer what the caller must hear first."
          initial
        />
        <FileField
          name="document"
          label="Proof of address"
          accept=".pdf,image/*"
          most={5_000_000}
          hint="PDF or a picture, at most 5 MB."
        />
        <FormActions>
          <Button kind="primary" type="submit" icon="send">
            Send
          </Button>
          <Button>Cancel</Button>
        </FormActions>
      </Form>
      <output aria-label="Sent">{sent}</output>
    </Section>
  )
}

export const Overlays = () => {
  const [open, setOpen] = useState('')
  const [done, setDone] = useState('')
  const close = () => setOpen('')
  return (
    <Section title="Dialogs, menus and messages">
      <div class="row">
        <Button onClick={() => setOpen('dialog')}>Open dialog</Button>
        <Button onClick={() => setOpen('drawer')}>Open drawer</Button>
        <Button onClick={() => setOpen('confirm')}>Release number</Button>
        <Button
          onClick={() =>
            showToast('The number was bought.', 'good', { text: 'Open', onClick: () => setDone('opened') })
          }
        >
          Show toast
        </Button>
        <Menu
          label="Acts of the number"
          items={[
            { text: 'Call', icon: 'phone', onSelect: () => setDone('call') },
            { text: 'Open conversation', icon: 'message-square', href: '#conversation' },
            { text: 'Pause', icon: 'pause', reason: 'The number is in a call' },
            { text: 'Copy as curl', icon: 'copy', onSelect: () => setDone('copy') },
            { text: 'Release', icon: 'trash-2', danger: true, divided: true, onSelect: () => setDone('release') },
          ]}
        />
        <Menu
          label="Theme"
          kind="plain"
          items={[
            { text: 'System', checked: true },
            { text: 'Light', checked: false },
            { text: 'Dark', checked: false },
          ]}
        >
          Theme: System
        </Menu>
        <output aria-label="Done">{done}</output>
      </div>
      <Banner
        tone="bad"
        title="Trunk “North” has been down for 12 minutes"
        actions={<Button size="small">Test</Button>}
      >
        REGISTER was answered with 403. Two accounts route by it.
      </Banner>
      <Banner tone="notice" title="A document is missing" onDismiss={() => undefined}>
        The number is suspended on 4 December without it.
      </Banner>
      <Banner tone="info">This is the sandbox: messages reach the handsets of this page only.</Banner>
      <Banner tone="good">All 41 jobs were retried.</Banner>
      <Dialog
        open={open === 'dialog'}
        onClose={close}
        title="Rename the number"
        actions={
          <>
            <Button onClick={close}>Cancel</Button>
            <Button kind="primary" onClick={close}>
              Save
            </Button>
          </>
        }
      >
        <TextField name="label" label="Label" initial="London desk" hint="Your colleagues see it in the inbox." />
      </Dialog>
      <Drawer open={open === 'drawer'} onClose={close} title="Delivery">
        <KeyValue
          facts={[
            { name: 'Status', value: <Status tone="good">200 in 41 ms</Status> },
            { name: 'Endpoint', value: 'https://hook.example.com/trunkline/events' },
          ]}
        />
      </Drawer>
      <ConfirmDialog
        open={open === 'confirm'}
        onClose={close}
        onConfirm={() => {
          setDone('released')
          close()
        }}
        title="Release +44 20 7946 0018?"
        act="Release the number"
        danger
        typed="+44 20 7946 0018"
      >
        Calls and messages to it end at once. Another customer can buy it after 30 days.
      </ConfirmDialog>
    </Section>
  )
}
